"""The command line as a person meets it: in a process of its own, with its exit codes and one-line errors."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import said
from reference.model_bytes import put_together, take_apart
from scipy import sparse

import textmill
from textmill.cli.app import Jobs
from textmill.corpus import Vocabulary, sample_articles, sample_path

TEXTMILL = [sys.executable, "-m", "textmill.cli.app"]


def run(*arguments: str, text: str | bytes = b"") -> subprocess.CompletedProcess[str]:
    """Run textmill and return what it said."""
    data = text.encode() if isinstance(text, str) else text
    done = subprocess.run([*TEXTMILL, *arguments], input=data, capture_output=True, check=False)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_version_and_help() -> None:
    assert run("--version").stdout == f"textmill {textmill.__version__}\n"
    page = run("--help")
    assert page.returncode == 0
    for job in ("bags", "demo", "info", "tokenize", "vocab"):
        assert job in page.stdout


@pytest.mark.parametrize("group", [[], ["topics"], ["similar"], ["tag"], ["fst"]])
def test_a_group_without_its_verb_prints_its_help_once(group: list[str]) -> None:
    bare = subprocess.run([*TEXTMILL, *group], capture_output=True, text=True, check=False)
    asked = subprocess.run([*TEXTMILL, *group, "--help"], capture_output=True, text=True, check=True)
    assert (bare.returncode, bare.stdout.rstrip(), bare.stderr) == (2, asked.stdout.rstrip(), "")


def test_every_job_stands_in_a_panel_of_the_help_page_and_the_used_ones_come_first() -> None:
    page = run("--help").stdout
    jobs = {path.stem for path in Path(str(textmill.__file__)).with_name("cli").glob("[a-z]*.py")} - {"app"}
    shown = re.findall(r"(?m)^│ (\w+)  ", page)
    assert sorted(shown) == sorted(jobs)
    assert shown[:5] == ["demo", "info", "serve", "topics", "similar"]


def test_each_example_of_a_help_page_is_a_paragraph() -> None:
    page = run("classify", "train", "--help").stdout
    assert len(re.findall(r"(?m)^ Example: ", page)) == page.count("Example: ") > 1


def test_help_imports_no_job_and_nothing_heavy() -> None:
    code = (
        "import sys; from textmill.cli.app import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = ('textmill.cli.', 'numpy', 'scipy')\n"
        "light = ('textmill.cli.app', 'textmill.cli._groups')\n"
        "print([m for m in sys.modules if m.startswith(heavy) and m not in light])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.splitlines()[-1] == "[]"


def test_every_job_and_verb_has_help_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for job in Jobs().list_commands(None):
        code, page, _ = said(capsys, job, "--help")
        assert code == 0
        verbs = [line.split()[1] for line in page.splitlines() if line.startswith("│ ") and " │" in line]
        pages = {job: page}
        for verb in verbs_of(job):
            assert verb in verbs
            code, page, _ = said(capsys, job, verb, "--help")
            assert code == 0
            assert job == "fst" or f"textmill {job} {verb}" in page.split("Example:")[1]  # fst has a test of its own
            pages[f"{job} {verb}"] = page
        for name, text in pages.items():
            usage = re.split(r"\n *\n", text.split("Usage:")[1])[0]
            assert not set("{}<") & set(usage), name
            assert "[[" not in usage, name
            assert not re.search(r"<(list\[)?(str|int|float|bool|path)", text), f"{name} shows types of Python"
            assert ("--install-completion" in text) is False, name
            assert "-h" in text, name


def verbs_of(job: str) -> list[str]:
    """The verbs of a job; none of a job that is a command itself."""
    command = Jobs().get_command(None, job)
    return command.list_commands(None) if hasattr(command, "list_commands") else []


def test_paragraphs_of_help_flow() -> None:
    jobs = {job: Jobs().get_command(None, job) for job in Jobs().list_commands(None)}
    commands = [jobs[job].get_command(None, verb) for job in jobs for verb in verbs_of(job)]
    assert len(commands) > 60
    assert any("\n\n" in command.help for command in commands)
    assert not [command.name for command in commands if "\n" in command.help.replace("\n\n", "")]


def test_tokenize_reads_standard_input() -> None:
    done = run("tokenize", "-", text="To be, or\nnot to be.\n")
    assert done.returncode == 0
    assert done.stdout == "to be or\nnot to be\n"


def test_tokenize_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.txt"
    file.write_text("On 12.4.2010 he left. :-) Why?", encoding="utf-8")
    assert said(capsys, "tokenize", str(file), "--keep", "emoticons", "--json")[1] == (
        '["on", "12.4.2010", "he", "left", ":-)", "why"]\n'
    )
    assert said(capsys, "tokenize", str(file), "--unit", "sentence")[1].splitlines()[-1].endswith("Why?")
    grams = said(capsys, "tokenize", str(file), "--unit", "character", "--lengths", "2", "2")[1]
    assert grams.startswith("on\tn \t 1\t12")
    code, _, errors = said(capsys, "tokenize", str(file), "--unit", "syllable")
    assert code == 1
    assert errors == "textmill: --unit must be one of 'word', 'sentence', 'character', got 'syllable'\n"


def test_from_files_to_a_vocabulary_to_bags(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vocabulary, bags = tmp_path / "v.mill", tmp_path / "b.npz"
    code, out, _ = said(
        capsys, "vocab", "build", str(sample_path()), "-o", str(vocabulary), "--min-df", "3", "--max-df", "0.2",
        "--keep", "400", "--stem", "english", "--jobs", "2",
    )  # fmt: skip
    assert code == 0
    assert out.startswith("400 terms")
    fitted = textmill.load(vocabulary, expect=Vocabulary)
    assert (len(fitted), fitted.min_df, fitted.max_df) == (400, 3, 0.2)
    code, out, _ = said(capsys, "vocab", "show", str(vocabulary), "-k", "2", "--json")
    assert [json.loads(line)["documents"] for line in out.splitlines()] == sorted(fitted.document_frequency_)[:-3:-1]
    assert len(said(capsys, "vocab", "show", str(vocabulary), "-k", "0", "--by", "id")[1].splitlines()) == 401
    code, out, _ = said(capsys, "bags", "make", str(sample_path()), "--vocab", str(vocabulary), "-o", str(bags))
    assert code == 0
    X = sparse.load_npz(bags)
    assert X.shape == (len(sample_articles(language=None)), 400)
    assert (fitted.transform([article["text"] for article in sample_articles(language=None)]) != X).nnz == 0
    code, out, _ = said(capsys, "info", str(vocabulary), "--json")
    assert json.loads(out)["class"] == "corpus.Vocabulary"
    code, out, _ = said(capsys, "info", str(vocabulary))
    assert code == 0
    assert out.splitlines()[:4] == [
        "kind: corpus.Vocabulary",
        "purpose: Number the terms of a corpus and count documents by them.",
        f"trained on: {fitted.documents_} documents, {fitted.tokens_:,} tokens",
        "size: 400 terms",
    ]
    assert "options: " in out
    assert f"file: {vocabulary.stat().st_size:,} bytes, with checksums" in out
    assert "removed_" not in out
    code, out, _ = said(capsys, "info", str(vocabulary), "--arrays", "--verify")
    assert code == 0
    assert "verified: every array has its checksum\narrays:\n  collection_frequency_: int64, 400, 3,200 bytes, " in out


def test_info_counts_what_a_person_counts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, made, _ = said(capsys, "-q", "lm", "train", str(sample_path()), "-o", f"{tmp_path}/lm.mill")
    assert code == 0
    counted = re.fullmatch(r"(\d+) sentences, (\d+) words, (\d+) n-grams\n", made)
    assert counted is not None
    sentences, words, ngrams = (f"{int(number):,}" for number in counted.groups())
    out = said(capsys, "info", f"{tmp_path}/lm.mill")[1]
    assert f"trained on: {sentences} sentences\nsize: {words} words, {ngrams} n-grams\n" in out
    assert said(capsys, "-q", "similar", "index", str(sample_path()), "-o", f"{tmp_path}/i.mill")[0] == 0
    assert "\nsize: 308 documents\n" in said(capsys, "info", f"{tmp_path}/i.mill")[1]


def test_info_verify_finds_a_flipped_bit_and_says_what_it_could_check(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "v.mill"
    Vocabulary().fit(["to be or not to be"]).save(path)
    code, out, _ = said(capsys, "info", str(path), "--verify", "--json")
    assert (code, json.loads(out)["verified"]) == (0, "checksums")
    data = bytearray(path.read_bytes())
    header, description, body = take_apart(bytes(data))
    data[len(data) - len(body) + header["collection_frequency_"]["data_offsets"][0]] ^= 1
    path.write_bytes(data)
    assert said(capsys, "info", str(path))[0] == 0
    code, out, fault = said(capsys, "info", str(path), "--verify")
    assert (code, out) == (1, "")
    assert fault.startswith(f"textmill: {path}: array 'collection_frequency_' is not what was saved: its checksum")
    old = {name: value for name, value in description.items() if name != "crc32"}
    path.write_bytes(put_together(header, old, body))
    code, out, _ = said(capsys, "info", str(path), "--verify")
    assert code == 0
    assert "bytes, without checksums, which it gets when it is saved again" in out
    assert "verified: shapes, indices and strings are sound" in out
    code, _, fault = said(capsys, "info", "--verify")
    assert (code, fault) == (
        2,
        "textmill info: Invalid value for --verify: needs a model file; see 'textmill info --help'\n",
    )


def test_info_describes_the_installation(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "info", "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["textmill"] == textmill.__version__
    assert facts["instruction set"] in ("avx2", "baseline")
    assert facts["blas"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["frobnicate"], 2, "textmill: No such command 'frobnicate'; see 'textmill --help'"),
        (["vocab", "build"], 2, "textmill vocab build: Missing argument 'INPUT...'"),
        (["vocab", "show", "nowhere.mill"], 1, "textmill: nowhere.mill: No such file or directory"),
        (["tokenize", "nowhere.txt"], 1, "textmill: nowhere.txt: No such file or directory"),
        (
            ["vocab", "build", "x", "-o", "v.mill", "--min-df", "few"],
            1,
            "textmill: --min-df must be a number such as 5",
        ),
        (
            ["topics", "show", "nowhere.mill", "--errors", "maybe"],
            1,
            "textmill: --errors must be 'strict' or 'skip', got 'maybe'",
        ),
        (
            ["tokenize", "--lengths", "3", "2", "--unit", "character", "-"],
            1,
            "textmill: the second of --lengths must be",
        ),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], code: int, message: str, tmp_path: Path) -> None:
    done = run("-q", *arguments)
    assert done.returncode == code
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_bad_data_names_its_place_and_leaves_nothing_behind(tmp_path: Path) -> None:
    file, model = tmp_path / "bad.jsonl", tmp_path / "v.mill"
    file.write_text('{"text": "fine"}\n{"body": "no text"}\n', encoding="utf-8")
    done = run("-q", "vocab", "build", str(file), "-o", str(model))
    assert done.returncode == 1
    assert done.stderr.startswith(f"textmill: {file}:2")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == [file]
    done = run("vocab", "build", str(file), "-o", str(model), "--errors", "skip")
    assert done.returncode == 0
    assert "1 " in done.stderr
    assert model.exists()


def test_no_documents_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    done = run("-q", "vocab", "build", str(tmp_path / "empty.jsonl"), "-o", str(tmp_path / "v.mill"))
    assert done.returncode == 1
    assert done.stderr == "textmill: there are no documents to count; pass at least one\n"
    assert not (tmp_path / "v.mill").exists()


def test_a_vocabulary_without_terms_is_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, none = str(tmp_path / "v.mill"), str(tmp_path / "none.mill")
    assert said(capsys, "vocab", "build", str(sample_path()), "-o", whole)[0] == 0
    for arguments in (["build", str(sample_path()), "--max-df", "0"], ["prune", whole, "--min-df", "100000"]):
        code, out, err = said(capsys, "vocab", *arguments, "-o", none)
        assert (code, out) == (1, "")
        assert err.startswith("textmill: no term is left, so nothing was written: 0 terms (of ")
        assert "removed by --m" in err
        assert not Path(none).exists()


def test_truncated_input_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "cut.txt.gz"
    file.write_bytes(gzip.compress(b"words and words " * 1000)[:-20])
    done = run("-q", "tokenize", str(file))
    assert done.returncode == 1
    assert str(file) in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_closed_pipe_is_no_fault() -> None:
    command = f"yes 'to be or not' | head -200000 | {' '.join(TEXTMILL)} -q tokenize - | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout == "to be or not\n"
    assert done.stderr == ""


def test_arguments_are_utf_8_whatever_the_locale_says() -> None:
    locale = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [*TEXTMILL, "-q", "match", "score", "José", "Jose", "-m", "levenshtein"]
    plain, bare = (subprocess.run(command, capture_output=True, check=True, env=env) for env in (None, locale))
    assert plain.stdout == bare.stdout


def test_debug_shows_the_traceback() -> None:
    done = run("--debug", "vocab", "show", "nowhere.mill")
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_vocabularies_are_merged_pruned_and_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [article["text"] for article in sample_articles()]
    for name, part in (("a", texts[:100]), ("b", texts[100:])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in part), encoding="utf-8")
        assert said(capsys, "vocab", "build", f"{tmp_path}/{name}.jsonl", "-o", f"{tmp_path}/{name}.mill")[0] == 0
    code, out, _ = said(
        capsys, "vocab", "merge", f"{tmp_path}/a.mill", f"{tmp_path}/b.mill", "-o", f"{tmp_path}/ab.mill"
    )
    assert code == 0
    assert textmill.load(tmp_path / "ab.mill").terms_ == Vocabulary().fit(texts).terms_
    limited = ["vocab", "build", f"{tmp_path}/a.jsonl", f"{tmp_path}/b.jsonl", "--memory", "1kB"]
    assert said(capsys, *limited, "-o", f"{tmp_path}/limited.mill")[0] == 0
    assert textmill.load(tmp_path / "limited.mill").terms_ == Vocabulary().fit(texts).terms_
    (tmp_path / "stop.txt").write_text("the\nof\n", encoding="utf-8")
    prune = ["vocab", "prune", f"{tmp_path}/ab.mill", "-o", f"{tmp_path}/small.mill", "--min-df", "3"]
    code, out, _ = said(capsys, *prune, "--stop-words", f"{tmp_path}/stop.txt")
    assert "removed by stop_words: 2 types" in out
    code, out, _ = said(capsys, "vocab", "report", f"{tmp_path}/small.mill", f"{tmp_path}/a.jsonl", "--json")
    assert json.loads(out)["documents"] == 100
    assert "density" in said(capsys, "vocab", "report", f"{tmp_path}/small.mill", f"{tmp_path}/a.jsonl")[1]


def test_bags_are_converted_and_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vocabulary = tmp_path / "v.mill"
    said(capsys, "vocab", "build", str(sample_path()), "-o", str(vocabulary), "--min-df", "3")
    for suffix in ("npz", "mm.gz", "svmlight", "ldac", "uci", "low", "mallet"):
        made = tmp_path / f"b.{suffix}"
        assert said(capsys, "bags", "make", str(sample_path()), "--vocab", str(vocabulary), "-o", str(made))[0] == 0
        words = ["--vocab", str(vocabulary)] if suffix in ("low", "mallet") else []
        code, out, _ = said(capsys, "bags", "convert", str(made), str(tmp_path / f"{suffix}.mm"), *words)
        assert code == 0
        code, out, _ = said(capsys, "bags", "info", str(tmp_path / f"{suffix}.mm"), "--json", "--index")
        facts = json.loads(out)
        assert (facts["documents"], facts["format"]) == (308, "mm")
        assert Path(facts["index"]).exists()
        expected = sparse.load_npz(tmp_path / "b.npz")
        assert (facts["nonzeros"], facts["total"]) == (expected.nnz, expected.sum())
    assert "density" in said(capsys, "bags", "info", str(tmp_path / "b.npz"))[1]
    code, _, errors = said(capsys, "bags", "convert", str(tmp_path / "b.low"), str(tmp_path / "b.xyz"))
    assert code == 1
    assert "what format is .xyz" in errors
