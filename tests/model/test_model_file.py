"""The file: whole or not at all when written, nothing believed when read."""

import errno
import json
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from reference.model_bytes import compact, put_together, take_apart, with_header
from safetensors import SafetensorError
from waiting import wait_until

from textmill.errors import ModelFileError
from textmill.model import Saved, describe, file, load
from textmill.model.file import read, write

FILES = Path(__file__).parents[1] / "files" / "model"
SMALL = Saved("toys.Line", 1, arrays={"weights_": np.arange(3.0)})
LARGE = Saved("toys.Line", 1, arrays={"weights_": np.arange(1e6)})


def leftovers(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_files_on_record_load_and_today_s_files_are_the_same_bytes(toys, tmp_path):
    golden = sorted(FILES.glob("good-*.mill"))
    assert len(golden) == 3
    for path in golden:
        load(path, verify=True).save(tmp_path / "again.mill")
        assert (tmp_path / "again.mill").read_bytes() == path.read_bytes()
    toys.Words(["Mühle", "", "čas"], [3, 1, 2]).save(tmp_path / "words.mill")
    assert (tmp_path / "words.mill").read_bytes() == (FILES / "good-words.mill").read_bytes()


def test_files_without_checksums_load_and_are_saved_with_them(toys, tmp_path):
    old = sorted(FILES.glob("old-*.mill"))
    assert len(old) == 3
    for path in old:
        assert b"crc32" not in path.read_bytes()
        load(path, verify=True).save(tmp_path / "again.mill")
        today = path.with_name(path.name.replace("old", "good"))
        assert (tmp_path / "again.mill").read_bytes() == today.read_bytes()


def test_the_header_holds_one_key_with_canonical_json_and_no_release(tmp_path):
    write(tmp_path / "m.mill", SMALL)
    data = (tmp_path / "m.mill").read_bytes()
    length = int.from_bytes(data[:8], "little")
    assert (8 + length) % 8 == 0
    header = json.loads(data[8 : 8 + length])
    expected = (
        '{"class":"toys.Line","crc32":{"arrays":{"weights_":"WEIGHTS"},"header":"HEADER"},'
        '"fitted":true,"format":1,"parameters":{},"parts":{},"state":{}}'
    )
    expected = expected.replace("WEIGHTS", f"{zlib.crc32(np.arange(3.0).tobytes()):08x}")
    covered = '{"arrays":{"weights_":["float64",[3]]},"description":' + expected.replace(',"header":"HEADER"', "") + "}"
    expected = expected.replace("HEADER", f"{zlib.crc32(covered.encode()):08x}")
    assert header["__metadata__"] == {"textmill": expected}
    assert header["weights_"] == {"dtype": "F64", "shape": [3], "data_offsets": [0, 24]}


# writing


def failing(fault):
    def save_file(arrays, path, metadata=None):
        Path(path).write_bytes(b"half of it")
        raise fault

    return save_file


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (SafetensorError("I/O error: No space left on device (os error 28)"), "No space left on device"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "No space left on device"),
        (OSError(errno.EIO, os.strerror(errno.EIO)), "Input/output error"),
    ],
)
@pytest.mark.parametrize("existing", [True, False])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(fault, message, existing, tmp_path, monkeypatch):
    path = tmp_path / "m.mill"
    if existing:
        write(path, SMALL)
    before = path.read_bytes() if existing else None
    monkeypatch.setattr(safetensors.numpy, "save_file", failing(fault))
    with pytest.raises(ModelFileError, match=rf"not saved: .*{message}.*; make room in the folder or choose another"):
        write(path, LARGE)
    assert leftovers(tmp_path) == (["m.mill"] if existing else [])
    assert not existing or path.read_bytes() == before


@pytest.mark.parametrize("step", ["_sync", "read"])
@pytest.mark.parametrize("fault", [KeyboardInterrupt(), MemoryError(), ModelFileError("bad", reason="damaged")])
def test_an_interrupt_at_any_step_leaves_the_old_file_and_nothing_else(step, fault, tmp_path, monkeypatch):
    path = tmp_path / "m.mill"
    write(path, SMALL)
    before = path.read_bytes()

    def stop(*_):
        raise fault

    monkeypatch.setattr(file, step, stop)
    with pytest.raises(type(fault)):
        write(path, LARGE)
    assert path.read_bytes() == before
    assert leftovers(tmp_path) == ["m.mill"]


def test_a_failing_rename_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "m.mill"
    write(path, SMALL)
    before = path.read_bytes()
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(errno.EXDEV, "Cross-device link")))
    with pytest.raises(ModelFileError, match="Cross-device link"):
        write(path, LARGE)
    assert path.read_bytes() == before
    assert leftovers(tmp_path) == ["m.mill"]


def run(code, *arguments, **options):
    """Run Python code that can use the toys in a process of its own."""
    start = (
        "import sys; sys.path.insert(0, sys.argv[1]); from reference import toy_models; toys = toy_models.install()\n"
    )
    start += "import numpy as np\nfrom textmill.model import load\n"
    tests = str(Path(__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-c", start + code, tests, *map(str, arguments)], capture_output=True, text=True, **options
    )


def test_a_real_limit_on_the_file_size_is_a_full_disk(tmp_path):
    path = tmp_path / "m.mill"
    write(path, SMALL)
    before = path.read_bytes()
    code = (
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "model = toys.Line(); model.weights_ = np.zeros(1_000_000)\n"
        "try: model.save(sys.argv[2])\n"
        "except Exception as fault: print(type(fault).__name__, fault)"
    )
    done = run(code, path)
    assert done.stderr == ""
    assert re.match(rf"ModelFileError {path}: not saved: .*File too large.*; make room", done.stdout)
    assert path.read_bytes() == before
    assert leftovers(tmp_path) == ["m.mill"]


def test_a_kill_during_save_leaves_the_old_file_and_the_next_save_cleans_up(tmp_path):
    path = tmp_path / "m.mill"
    write(path, SMALL)
    before = path.read_bytes()
    code = (
        "import os, signal, safetensors.numpy as library\n"
        "real = library.save_file\n"
        "def save_file(*arguments, **options):\n"
        "    real(*arguments, **options)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "library.save_file = save_file\n"
        "model = toys.Line(); model.weights_ = np.zeros(1000); model.save(sys.argv[2])"
    )
    assert run(code, path).returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    (left,) = [name for name in leftovers(tmp_path) if name != "m.mill"]
    assert left.startswith(".m.mill.saving-")
    with pytest.raises(ModelFileError, match="was left by a save that was killed"):
        load(tmp_path / left / "unfinished")
    write(tmp_path / "other.mill", SMALL)  # another target is not its business
    assert left in leftovers(tmp_path)
    write(path, LARGE)
    assert leftovers(tmp_path) == ["m.mill", "other.mill"]
    assert read(path).arrays["weights_"].size == 1_000_000


def test_kills_at_random_moments_leave_one_of_two_whole_files(tmp_path):
    path = tmp_path / "m.mill"
    code = (
        "model = toys.Line(); number = 0\n"
        "while True:\n"
        "    number += 1\n"
        "    model.weights_ = np.full(200_000, float(number)); model.save(sys.argv[2])\n"
        "    print(number, flush=True)"
    )
    start = (
        "import sys; sys.path.insert(0, sys.argv[1]); from reference import toy_models; toys = toy_models.install()\n"
    )
    start += "import numpy as np\n"
    for moment in range(5):
        process = subprocess.Popen(
            [sys.executable, "-c", start + code, str(Path(__file__).parents[1]), str(path)], stdout=subprocess.PIPE
        )
        process.stdout.readline()
        if moment:  # a save is under way
            wait_until(lambda: any(name.startswith(".m.mill.saving-") for name in os.listdir(tmp_path)))
        process.kill()
        process.communicate()
        weights = load(path, verify=True).weights_
        assert weights.shape == (200_000,)
        assert np.ptp(weights) == 0
    write(path, SMALL)
    assert leftovers(tmp_path) == ["m.mill"]


def test_what_a_save_leaves_that_was_killed_before_it_had_a_lock_is_removed(tmp_path):
    path = tmp_path / "m.mill"
    (tmp_path / ".m.mill.saving-empty").mkdir()
    write(path, SMALL)
    assert leftovers(tmp_path) == ["m.mill"]


def test_a_save_whose_empty_folder_was_taken_for_a_left_one_begins_again(tmp_path, monkeypatch):
    path, made = tmp_path / "m.mill", []
    real = tempfile.mkdtemp

    def taken(**options):
        made.append(real(**options))
        if len(made) == 1:
            os.rmdir(made[0])
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", taken)
    write(path, SMALL)
    assert len(made) == 2
    assert leftovers(tmp_path) == ["m.mill"]


def test_a_save_in_progress_elsewhere_is_not_disturbed(tmp_path, monkeypatch):
    path = tmp_path / "m.mill"
    real = safetensors.numpy.save_file

    def meanwhile(arrays, draft, metadata=None):
        monkeypatch.setattr(safetensors.numpy, "save_file", real)
        write(path, SMALL)  # somebody else saves to the same name, completely
        real(arrays, draft, metadata=metadata)

    monkeypatch.setattr(safetensors.numpy, "save_file", meanwhile)
    write(path, LARGE)
    assert read(path).arrays["weights_"].size == 1_000_000
    assert leftovers(tmp_path) == ["m.mill"]


def test_files_are_flushed_before_the_rename_and_the_folder_after(tmp_path, monkeypatch):
    events = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (events.append(os.readlink(f"/proc/self/fd/{fd}")), sync(fd)))
    monkeypatch.setattr(os, "replace", lambda *paths: (events.append("rename"), replace(*paths)))
    write(tmp_path / "m.mill", SMALL)
    assert [Path(event).name for event in events] == ["unfinished", "rename", tmp_path.name]


def test_new_files_follow_umask_and_old_ones_keep_their_rights(tmp_path):
    path = tmp_path / "m.mill"
    old = os.umask(0o027)
    try:
        write(path, SMALL)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o600)
    write(path, SMALL)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_is_followed_and_stays_a_link(tmp_path):
    (tmp_path / "store").mkdir()
    link = tmp_path / "m.mill"
    link.symlink_to(tmp_path / "store" / "real.mill")
    write(link, SMALL)
    assert link.is_symlink()
    assert leftovers(tmp_path / "store") == ["real.mill"]


def test_impossible_targets_are_named(tmp_path):
    with pytest.raises(ModelFileError, match="not saved: there is a folder or device of that name"):
        write(tmp_path, SMALL)
    with pytest.raises(ModelFileError, match="not saved: there is a folder or device of that name"):
        write("/dev/null", SMALL)
    reading, writing = os.pipe()
    with pytest.raises(ModelFileError, match="or a pipe; choose another name"):
        write(f"/proc/self/fd/{writing}", SMALL)
    os.close(reading)
    os.close(writing)
    with pytest.raises(ModelFileError, match="No such file or directory; make the folder or choose another"):
        write(tmp_path / "none" / "m.mill", SMALL)
    with pytest.raises(ModelFileError, match="File name too long"):
        write(tmp_path / ("x" * 250), SMALL)
    assert leftovers(tmp_path) == []


def test_a_loaded_model_can_be_saved_over_its_own_file(toys, tmp_path):
    path = tmp_path / "m.mill"
    write(path, LARGE)
    model = load(path)
    for _ in range(3):
        model.save(path)
        assert np.array_equal(load(path).weights_, LARGE.arrays["weights_"])


def test_parameters_that_would_not_fit_the_header_are_not_saved(tmp_path):
    with pytest.raises(ModelFileError, match=r"not saved: parameters and state take 6,000,1.. characters"):
        write(tmp_path / "m.mill", Saved("toys.Line", 1, parameters={"x": "y" * 6_000_000}))
    longest = Saved("toys.Line", 1, parameters={"x": '"' * 2_400_000})
    write(tmp_path / "m.mill", longest)
    assert read(tmp_path / "m.mill").parameters == longest.parameters


# reading


def words_file():
    return (FILES / "good-words.mill").read_bytes()


def refused(data, message, tmp_path):
    path = tmp_path / "bad.mill"
    path.write_bytes(data)
    for function in (load, describe):
        with pytest.raises(ModelFileError) as fault:
            function(path)
        text = str(fault.value)
        assert text.startswith(f"{path}: ")
        assert message in text
        assert ";" in text
        assert "\n" not in text
        assert len(text) < 500


def test_every_truncation_is_noticed(tmp_path):
    data = words_file()
    for end in range(len(data)):
        path = tmp_path / "bad.mill"
        path.write_bytes(data[:end])
        with pytest.raises(ModelFileError):
            load(path)
    refused(data[:-1], f"ends after {len(data) - 1} of {len(data)} bytes; an unfinished copy: fetch it again", tmp_path)
    refused(data[:100], "ends after 100 bytes, inside its header; an unfinished copy", tmp_path)
    refused(data[:8], "ends after 8 bytes, inside its header", tmp_path)
    refused(data + b"x", "has 1 bytes after its end", tmp_path)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"dtype": "F65"}, "'counts' has the unknown type 'F65'"),
        ({"dtype": ["F64"]}, "'counts' has the unknown type"),
        ({"dtype": "C64"}, "'counts' has the unknown type 'C64'"),
        ({"shape": [-3]}, "'counts' has an impossible shape or place"),
        ({"shape": [3.0]}, "'counts' has an impossible shape or place"),
        ({"shape": [True]}, "'counts' has an impossible shape or place"),
        ({"shape": 3}, "'counts' has an impossible shape or place"),
        ({"shape": [2**63]}, "'counts' has an impossible shape or place"),
        ({"shape": [1] * 9}, "'counts' has an impossible shape or place"),
        ({"shape": [4]}, "'counts' does not fit its place"),
        ({"shape": [2**61, 2**61]}, "'counts' does not fit its place"),
        ({"shape": [0, 2**62], "data_offsets": [0, 0]}, "'counts' does not fit its place"),
        ({"shape": [2**32, 2**32, 3]}, "'counts' does not fit its place"),
        ({"data_offsets": [24, 0]}, "'counts' does not fit its place"),
        ({"data_offsets": [0, 24, 48]}, "'counts' has an impossible shape or place"),
        ({"data_offsets": [8, 32]}, "leaves a gap or lies over another"),
        ({"data_offsets": [-8, 16]}, "'counts' has an impossible shape or place"),
        ({"data_offsets": [32, 56]}, "leaves a gap or lies over another"),
        ({"data_offsets": [1, 25]}, "'counts' is not aligned"),
        ({"extra": 1}, "'counts' must have dtype, shape and data_offsets"),
    ],
)
def test_every_lie_about_an_array_is_noticed(entry, message, tmp_path):
    header, description, body = take_apart(words_file())
    header["counts"] |= entry
    refused(put_together(header, description, body), message, tmp_path)


def test_what_is_just_within_the_limits_is_read(tmp_path):
    path = tmp_path / "m.mill"
    nested = Saved("toys.Line", 2**31 - 1, arrays={"x": np.ones([1] * 8)})
    for _ in range(7):
        nested = Saved("toys.Line", 1, parts={"x": nested})
    write(path, nested)
    inner = read(path, verify=True)
    for _ in range(7):
        inner = inner.parts["x"]
    assert inner.format == 2**31 - 1
    assert inner.arrays["x"].shape == (1,) * 8
    with pytest.raises(ModelFileError, match="nested more than 8 deep"):
        write(path, Saved("toys.Line", 1, parts={"x": nested}))
    entry = {"dtype": "F64", "shape": [0, 2**60 - 1], "data_offsets": [0, 0]}
    assert file._check_places({"x": entry}, 8, 8)["x"][3] == (0, 2**60 - 1)
    with pytest.raises(ModelFileError, match="does not fit its place"):
        file._check_places({"x": entry | {"shape": [0, 2**60]}}, 8, 8)


def test_arrays_that_share_bytes_are_noticed_even_when_there_is_no_gap(tmp_path):
    header, description, body = take_apart(words_file())
    begin, end = header["terms.bytes"]["data_offsets"]
    header["terms.bytes"] |= {"shape": [end - begin + 16], "data_offsets": [begin - 16, end]}
    refused(put_together(header, description, body), "'terms.bytes' leaves a gap or lies over another", tmp_path)


def test_lies_about_the_header_as_a_whole_are_noticed(tmp_path):
    header, description, body = take_apart(words_file())
    text = compact(description)

    def metadata(value):
        return with_header(compact(header | {"__metadata__": value}), body)

    refused(metadata({"textmill": text, "more": ""}), "the metadata must be one text", tmp_path)
    refused(metadata({"textmill": 3}), "the metadata must be one text", tmp_path)
    refused(metadata([]), "another program", tmp_path)
    refused(metadata({"textmill": "\ud800"}).replace(b"\xed\xa0\x80", b"\\ud800"), "the metadata must be", tmp_path)
    refused(with_header("{" + compact(header)[1:-1] + "," + compact(header)[1:], body), "a key stands twice", tmp_path)
    refused(with_header("{nonsense", body), "the header is not JSON in UTF-8", tmp_path)
    refused(with_header(b'{"\xff":1}', body), "the header is not JSON in UTF-8", tmp_path)
    refused(with_header('{"a":NaN}', body), "the header is not JSON in UTF-8", tmp_path)
    refused(with_header('{"a":' + "9" * 5000 + "}", body), "the header is not JSON in UTF-8", tmp_path)
    refused(with_header('{"a":' * 100_000, body), "the header is nested too deeply", tmp_path)
    refused(with_header('{"a":' + "[" * 100_000, body), "the header is nested too deeply", tmp_path)
    refused(
        with_header(compact(header | {"__metadata__": {"textmill": text}, "x": 1}), body), "'x' must have", tmp_path
    )
    for name in ("", "a b", "../x", "part/", "part//x", "/x", "x/y", "part/1/x", "a\nb", "x" * 90 + " "):
        changed = header | {name: {"dtype": "U8", "shape": [0], "data_offsets": [66, 66]}}
        refused(put_together(changed, description, body), "is none of ours", tmp_path)
    changed = header | {"part/x/y": {"dtype": "U8", "shape": [0], "data_offsets": [66, 66]}}
    refused(put_together(changed, description, body), "arrays under 'part/x' belong to no model", tmp_path)


def test_lies_in_the_description_are_noticed(tmp_path):
    header, description, body = take_apart(words_file())

    def lie(change, message):
        refused(put_together(header, change, body), message, tmp_path)

    lie(compact(description).replace(":", ": "), "not in canonical form")
    lie(compact(description).replace('"format":1', '"format":1e999'), "not in canonical form")
    lie(compact(description).replace("toys", "t\\u006fys"), "not in canonical form")
    lie(compact(description).replace("toys", "\\ud800"), "not in canonical form")
    lie(compact(description)[:-1] + ',"state":{}}', "a key stands twice")
    lie("[]", "the description is no JSON object")
    lie("", "the description is not JSON in UTF-8")
    lie(compact(description).replace("{}", "[" * 100_000, 1), "the description is nested too deeply")
    lie(description | {"more": 1}, "must have the keys class, fitted, format")
    lie({key: value for key, value in description.items() if key != "state"}, "must have the keys")
    for key in description.keys() - {"crc32"}:
        lie(description | {key: None}, f"'{key}' in the description must be a")
    lie(description | {"format": True}, "'format' in the description must be a int")
    for version in (0, -1, 2**31, 10**4000):
        lie(description | {"format": version}, "the format in the description is no version")
    lie(description | {"parts": {"x/y": None}}, "part name 'x/y' is none of ours")
    lie(description | {"parts": {"x": 3}}, "the description must have the keys")
    inner = {key: value for key, value in description.items() if key != "crc32"}
    nested = inner
    for _ in range(8):
        nested = inner | {"parts": {"x": nested}}
    nested = description | {"parts": {"x": nested}}
    lie(nested, "models are nested more than 8 deep")


@pytest.mark.parametrize("path", sorted(FILES.glob("bad-*.mill")), ids=lambda path: path.stem)
def test_damaged_files_on_record_are_refused(path):
    with pytest.raises(ModelFileError) as fault:
        load(path, verify=True)
    assert str(fault.value).startswith(f"{path}: ")


def test_the_shortest_header_is_one_of_another_program(tmp_path):
    path = tmp_path / "other.mill"
    path.write_bytes((2).to_bytes(8, "little") + b"{}")
    with pytest.raises(ModelFileError, match="of another program"):
        read(path)


def test_a_file_that_cannot_be_mapped_is_named_with_the_reason(tmp_path, monkeypatch):
    write(tmp_path / "a.mill", SMALL)

    def refuse(*_, **__):
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    monkeypatch.setattr(file.np, "memmap", refuse)
    with pytest.raises(ModelFileError, match="cannot be mapped into memory"):
        read(tmp_path / "a.mill")


@pytest.mark.parametrize(
    ("path", "unfinished"),
    [
        ("models/.lda.mill.saving-x81kd2_a/unfinished", True),
        ("models/unfinished", False),
        ("models/.lda.mill.saving-x81kd2_a/lda.mill", False),
        ("models/.hidden/unfinished", False),
        ("models/lda.mill.saving-x81kd2_a/unfinished", False),
    ],
)
def test_only_what_a_killed_save_leaves_is_unfinished(path, unfinished):
    assert file.is_unfinished(path) is unfinished
