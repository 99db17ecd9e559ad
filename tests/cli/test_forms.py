"""Every command with every form of file: the right result or one line that says what is wrong, nothing between.

What a job reads decides what becomes of a form; `OUTCOMES` says it, a line for each kind of job. `COMMANDS` says which
commands belong to a kind: where a command is renamed, only that table changes. Records in JSONL, CSV, TSV and Parquet
hold the same texts, so they must give the same output.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from forms import FILES, FORMS, make_models, run, write_forms
from test_outputs import leaves

# what becomes of       plain jsonl csv tsv columns conllu parquet empty binary line; + the right result, - an error
OUTCOMES = {
    "texts": "             +     +    +   +     -      +      +      -     -     +",
    "texts or none": "     +     +    +   +     -      +      +      +     -     +",
    "many texts": "        -     +    +   +     -      +      +      -     -     -",
    "much text": "         +     +    +   +     -      +      +      -     -     -",
    "rated texts": "       -     +    +   +     -      -      +      -     -     -",
    "words": "             -     -    -   -     -      -      -      +     -     -",
    "pairs of words": "    -     +    +   +     -      -      +      -     -     -",
    "names": "             +     +    +   +     -      -      +      +     -     +",
    "columns": "           -     -    -   -     +      -      -      -     -     -",
    "tags or none": "      -     -    -   -     +      -      -      +     -     -",
    "CoNLL-U": "           -     -    -   -     -      +      -      -     -     -",
    "CoNLL-U or none": "   -     -    -   -     -      +      -      +     -     -",
    "own or none": "       -     -    -   -     -      -      -      +     -     -",
    "columns or text": "   -     +    +   +     +      +      +      +     -     -",
    "tokens": "            -     -    -   -     +      +      -      +     -     -",
    "of another kind": "   -     -    -   -     -      -      -      -     -     -",
}
COMMANDS = {
    "texts": """
        vocab build {} -o out.mill
        similar index {} -o out.mill
        counts fit {}
        coherence fake {} --kind markov -k 3
        fluency score f.mill {}
        fluency explain f.mill {}
        language train {} -o out.mill
        language evaluate {}
        lm train {} --order 2 -o out.mill
        lm score l.mill {}
        lm perplexity l.mill {}
        readability score {}
        readability predict r.mill {}
        readability explain r.mill {}
        readability extract {}
        trees parse trees.mill {}
    """,
    "texts or none": """
        similar upsert i.mill {}
        bags make {} --vocab v.mill -o out.npz
        classify predict c.mill {}
        coherence score d.mill {}
        correct apply correct.mill {}
        language detect {}
        language segment {}
        normalize {}
        polarity score p.mill {}
        segment text {}
        segment chunks {}
        similar query i.mill --file {} -k 1
        similar classify k.mill {}
        tokenize {}
        topics transform t.mill {} -o out.npy
        vocab report v.mill {}
        voicemail extract voicemail.mill {}
        voicemail grammar {}
    """,
    "many texts": """
        fluency split {} -o out
        similar collect {} -o out
        coherence train {} --topics 3 --max-iter 3 --held-out 0.5 -o out.mill
        fluency train {} --features word:1 --kernel linear -o out.mill
        lm leave-one-out {}
        topics train {} --kind lsa --topics 3 -o out.mill
    """,
    "much text": """
        correct train {} -o out.mill
        bursts {}
        compare {} {}
        counts compare {}
        lm classes {} --classes 3
    """,
    "rated texts": """
        classify train {} --l2 1 -o out.mill
        classify evaluate c.mill {}
        classify path {}
        polarity train {} --kind least-squares -o out.mill
        polarity evaluate p.mill {}
        readability train {} --features shallow -o out.mill
    """,
    "words": """
        pronounce apply pronounce.mill {}
        transcribe apply transcribe.mill {}
    """,
    "pairs of words": """
        pronounce train {} --context 1 -o out.mill
        transcribe train {} --no-search -o out.mill
        transcribe evaluate transcribe.mill {}
    """,
    "names": """
        match dedupe {}
        match join names.csv {}
    """,
    "columns": """
        entities train {} -o out.mill
        entities evaluate e.mill {}
        tag train {} --max-iter 5 -o out.mill
        tag path {} --steps 2 --max-iter 2
        tag crossval {} --folds 3 --max-iter 2
        tag tune {} --grid l2=1 --max-iter 2
    """,
    "tags or none": """
        tag repair {}
    """,
    "CoNLL-U": """
        transfer evaluate {} {}
        tag train {} --max-iter 5 --label-column upos -o out.mill
        parse evaluate parser.mill {}
    """,
    "CoNLL-U or none": """
        parse apply parser.mill {}
    """,
    "own or none": """
        match accept {} {}
        match review {} -o out.html
        tag update tag.mill {} -o out.mill
    """,
    "columns or text": """
        tag label words.mill {}
        entities label e.mill {}
    """,
    "tokens": """
        tag explain words.mill {}
    """,
    "of another kind": """
        bags convert {} out.npz
        bags info {}
        classify decode {}
        match train {} --labels {} -o out.mill
        parse train {} --l1 1 -o out.mill
        segment evaluate {}
        tag compare {} {}
        tag evaluate {}
        topics import {} -o out.mill --from lda-c
        transfer run {} -o out.mill --families {} --acceptor {}
        transfer forest {} --families {}
        trees train {} -o out.mill
        trees evaluate trees.mill {}
        voicemail train {} -o out.mill
        voicemail evaluate voicemail.mill {}

        classify explain {}
        classify words {}
        correct suggest {} word
        entities explain {} word
        entities merge {} {} -o out.mill
        fluency evaluate {} plain.txt
        info {}
        language diff {} {}
        language dump --model {}
        language edit {} -o out.mill
        language explain word --model {}
        language list --model {}
        lm convert {} -o out.arpa
        lm mix {} {} -o out.mill
        lm next {} word
        lm ngrams {}
        lm prune {} -o out.mill
        lm sample {}
        parse explain {}
        polarity explain {}
        pronounce export {}
        pronounce invert {} t a
        pronounce show {}
        similar add {} plain.txt
        similar compact {}
        similar diagnose {}
        similar duplicates {}
        similar evaluate {} --field label
        similar export {} -o out.csv
        similar neighbors {}
        similar pairs {}
        similar remove {} n1
        similar reviewers {} --text word
        similar stats {}
        similar why {} n1 n2
        tag compact {} -o out.mill
        tag convert {} out.mill
        tag dump {}
        tag show {}
        topics cluster {}
        topics coherence {} plain.txt
        topics diff {} {}
        topics explain {} --text word
        topics export {} --to matrix -o out.npz
        topics merge {} {} -o out.mill
        topics show {}
        topics update {} plain.txt
        transcribe kanji {} plain.txt
        transcribe show {}
        transfer best {}
        transfer sample {}
        vocab merge {} {} -o out.mill
        vocab prune {} -o out.mill
        vocab show {}
        voicemail rules {}
    """,
}
NO_FILE = {
    "demo", "match score", "parse sample", "pronounce sample", "transcribe sample", "voicemail sample",
}  # fmt: skip
ELSEWHERE = {
    "serve": "a server, tests/web",
    "classify curve": "reads as `classify train`, many times",
    "classify vocabulary": "reads as `classify train`, many times",
    "coherence evaluate": "reads as `coherence score`, twice",
    "match evaluate": "reads as `match dedupe`",
    "match compare": "reads as `match dedupe`",
    "match pool": "reads as `match dedupe`",
    "match blocks": "reads as `match dedupe`",
    "match explain": "reads as `match dedupe`",
    "pronounce evaluate": "below",
    "readability evaluate": "reads as `readability train`, many times",
}
CASES = [(kind, line.strip()) for kind, lines in COMMANDS.items() for line in lines.splitlines() if line.strip()]
TABLES = ("jsonl", "csv", "tsv", "parquet")
_VARIES = re.compile(r"[\d.]+ (MB/s|texts/s)|(?<=\"line\": )\d+|\d+(?:\.\d+)? (?:kB|bytes)")


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The forms and the models."""
    folder = tmp_path_factory.mktemp("forms")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        make_models(write_forms(folder))
    return folder


@pytest.mark.parametrize(("kind", "command"), CASES, ids=[command.replace("{}", "FILE") for _, command in CASES])
def test_a_file_gives_the_right_result_or_one_line(
    kind: str,
    command: str,
    shelf: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    said: dict[str, str] = {}
    for form, outcome in zip(FORMS, OUTCOMES[kind].split(), strict=True):
        work = tmp_path / form
        shutil.copytree(shelf, work)
        monkeypatch.chdir(work)
        file = FILES[form]
        before = {path.name for path in work.iterdir()}
        code = run(*command.replace("{}", file).split())
        out, err = (stream.decode() for stream in capfdbinary.readouterr())
        new = {path.name for path in work.iterdir()} - before
        if outcome == "-":
            assert code == 1, f"{form}: {out[:200]} {err}"
            assert err.startswith("textmill: "), f"{form}: {err}"
            assert err.count("\n") == 1, f"{form}: {err}"
            assert not out or kind == "of another kind", f"{form}: {out[:200]}"
            assert not new, f"{form}: {new}"
        else:
            assert code == 0, f"{form}: {err}"
            assert form == "empty" or out or err or new, f"{form}: nothing came out"
            said[form] = _VARIES.sub("", _plain(out).replace(file, "FILE"))
    if "jsonl" in said:
        for form in TABLES:
            assert said[form] == said["jsonl"], f"{form} is not read as JSONL is"


def test_every_command_is_in_the_table() -> None:
    listed = {" ".join(word for word in command.split() if word) for _, command in CASES}
    names = {words for words, _ in leaves() if not words.startswith("fst")}
    known = {name for name in names if any(command.startswith(f"{name} ") for command in listed)}
    assert names - known == NO_FILE | set(ELSEWHERE)


def _plain(out: str) -> str:
    """Output with the values of JSON as text: a number of JSONL is a string in CSV."""
    lines = []
    for line in out.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            lines.append(line)
            continue
        lines.append(str({name: str(one) for name, one in value.items()}) if isinstance(value, dict) else line)
    return "\n".join(lines)
