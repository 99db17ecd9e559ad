"""What a message says about the encoding of bytes that are not UTF-8."""

import pytest

from textmill.corpus.streams import open_lines
from textmill.errors import DataError

LINES = [
    ("太郎は学校へ行った。 N", "euc_jp", "euc_jp"),
    ("太郎は学校へ行った。", "shift_jis", "shift_jis"),
    ("東 NNP B-LOC", "euc_jp", "euc_jp"),
    ("他们去了学校", "gb18030", "gb18030"),
    ("그는 학교에 갔다", "euc_kr", "euc_kr"),
    ("他們去了學校", "big5", "big5"),
    ("Он пошёл в школу", "koi8-r", "koi8-r"),
    ("Он пошёл в школу", "cp1251", "cp1251"),
    ("Der schöne Garten", "latin-1", "latin-1"),
    ("Müßig NN", "latin-1", "latin-1"),
    ("créée VPP", "latin-1", "latin-1"),
    ("das „Wort“", "cp1252", "cp1252"),
]


@pytest.mark.parametrize(("line", "encoding", "named"), LINES)
def test_the_encoding_of_a_line_is_among_those_named(line, encoding, named, tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes((line + "\n").encode(encoding))
    with pytest.raises(DataError) as caught:
        list(open_lines(path))
    assert named in str(caught.value)
    if not line.isascii() and encoding not in ("latin-1", "cp1252"):
        assert "latin" not in str(caught.value)
