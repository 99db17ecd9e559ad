#!/usr/bin/env python3
"""What each unit of the native code costs to compile, in processor time.

A compiler launcher: CMake puts it in front of every call of the compiler,

    cmake -S . -B build/times -G Ninja -DCMAKE_BUILD_TYPE=Release \\
      -DCMAKE_CXX_COMPILER_LAUNCHER=$PWD/tools/compile_times.py
    ninja -C build/times

and each call adds one line to compile_times.tsv in the build folder: user and system seconds of the compiler, a tab,
the object file. Processor time stays the same beside other work, the times of .ninja_log do not. `python -m bench
native` prints the record as a table.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys

RECORD = "compile_times.tsv"


def main(command: list[str]) -> int:
    """Run the compiler and record what it took."""
    code = subprocess.run(command, check=False).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    if code == 0 and "-o" in command:
        line = f"{used.ru_utime + used.ru_stime:.3f}\t{command[command.index('-o') + 1]}\n"
        record = os.open(RECORD, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.write(record, line.encode())  # one call, so that two compilers at once do not mix their lines
        os.close(record)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
