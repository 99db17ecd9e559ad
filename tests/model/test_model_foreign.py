"""Files that are something else are called by their name, made by the tools that really write them."""

import bz2
import gzip
import io
import json
import lzma
import os
import pickle
import struct
import tempfile
import zipfile

import numpy as np
import pytest
from safetensors.numpy import save

from textmill.errors import ModelFileError
from textmill.model import Saved, describe, load
from textmill.model.file import read, write


def npy():
    file = io.BytesIO()
    np.save(file, np.arange(3))
    return file.getvalue()


def npz():
    file = io.BytesIO()
    np.savez(file, a=np.arange(3))
    return file.getvalue()


def archive():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("a.txt", "text")
    return file.getvalue()


FOREIGN = {
    "gzip": (gzip.compress(b"text"), "a gzip file; unpack"),
    "zstd": (b"\x28\xb5\x2f\xfd\x24\x04\x21\x00\x00text\x00\x00\x00\x00", "a Zstandard file; unpack"),
    "bz2": (bz2.compress(b"text"), "a bzip2 file; unpack"),
    "xz": (lzma.compress(b"text"), "an xz file; unpack"),
    "npz": (npz(), "a zip archive, perhaps NumPy's .npz"),
    "zip": (archive(), "a zip archive"),
    "npy": (npy(), "a NumPy array"),
    **{f"pickle {p}": (pickle.dumps([1] * 50, protocol=p), "a pickle, which could run code") for p in (2, 3, 4, 5)},
    "wapiti": (b"#mdl#2#123\n#rdr#1/2/0\n", "a Wapiti model ('#mdl#' header); read it with sequence.read_wapiti"),
    "crfsuite": (b"lCRF" + bytes(60), "a CRFsuite model"),
    "openfst": (struct.pack("<ii", 2125659606, 6) + b"vector", "an OpenFst machine"),
    "symbols": (struct.pack("<ii", 2125658996, 4) + b"name", "an OpenFst symbol table"),
    "kenlm": (b"mmap lm http://kheafield.com/code format version 5\n\0", "a KenLM binary"),
    "arpa": (b"\n\n\\data\\\nngram 1=3\n", "an ARPA language model"),
    "arpa with a comment": (b"made by hand\r\n\\data\\\r\nngram 1=3\r\n", "an ARPA language model"),
    "matrix market": (b"%%MatrixMarket matrix coordinate real general\n", "a Matrix Market file"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"),
    "html": (b"<!DOCTYPE html><html>", "HTML or XML"),
    "json": (json.dumps({"a": 1}).encode(), "JSON"),
    "json list": (b"[1, 2]", "JSON"),
    "text": ("Große Mühle\n".encode() * 100, "plain text"),
    "text cut inside a character": (b"a" * 511 + "ü".encode(), "plain text"),
    "empty": (b"", "an empty file; perhaps an unfinished copy"),
    "noise": (bytes(range(255, 0, -1)), "an unknown or damaged file"),
    "short": (b"\0\1\2", "an unknown or damaged file"),
    "zeros": (bytes(100), "an unknown or damaged file"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_files_of_other_kinds_are_recognized(kind, tmp_path):
    data, expected = FOREIGN[kind]
    path = tmp_path / "model.mill"
    path.write_bytes(data)
    for function in (load, describe):
        with pytest.raises(ModelFileError) as fault:
            function(path)
        message = str(fault.value)
        assert message.startswith(f"{path}: not a textmill model but {expected}")
        assert ";" in message
        assert "\n" not in message


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}])
def test_a_safetensors_file_of_another_program_is_recognized(metadata, tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(save({"weights": np.ones(3)}, metadata=metadata))
    with pytest.raises(ModelFileError, match="a safetensors file of another program"):
        load(path)


def test_folders_and_pipes_are_recognized_and_not_waited_for(tmp_path):
    with pytest.raises(ModelFileError, match="is a folder; pass the file"):
        load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="is a device or pipe"):
        load(tmp_path / "pipe")


def test_a_missing_file_stays_a_missing_file():
    with tempfile.TemporaryDirectory() as folder, pytest.raises(FileNotFoundError, match=r"none\.mill"):
        load(f"{folder}/none.mill")


def test_a_header_of_640_bytes_is_no_pickle_though_it_begins_like_one(tmp_path):
    path = tmp_path / "words.mill"
    write(path, Saved("toys.Words", 1, parameters={"x": ""}))
    padding = 640 - int.from_bytes(path.read_bytes()[:8], "little")
    write(path, Saved("toys.Words", 1, parameters={"x": "y" * padding}))
    assert path.read_bytes()[:2] == b"\x80\x02"
    assert read(path).parameters == {"x": "y" * padding}
