"""What each panel answers, and its bad input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from web_shelf import HOSTILE, PAIRS

from textmill.model import load
from textmill.tasks import EntityRecognizer, FluencyModel, PronunciationModel, ReadabilityGrader, SimilarDocuments
from textmill.tasks.fluency import sample_documents
from textmill.tasks.names import read_gold
from textmill.tasks.similarity import SubjectClassifier
from textmill.topics import LDA
from textmill.web.analyses import Analysis, analyses_of
from textmill.web.articles import ArticleAnswer, SearchAnswer
from textmill.web.library import open_entry

Clients = Callable[..., httpx.Client]
MIXED = "We saw Brno.\n\nLe chat est sur la table, il fait beau dehors. 𝔘 The mill grinds corn by the river."


def test_the_contents_name_every_file_in_its_panels(client: httpx.Client) -> None:
    panels = client.get("/api/v1").json()["panels"]
    assert panels["articles"] == ["words", "lsa"]
    assert panels["topics"] == ["topics"]
    assert panels["text"] == ["topics", "places", "subjects", "detector"]
    assert panels["names"] == ["people"]
    assert panels["transducers"] == ["numbers", "words-2"]  # two files of one name
    assert len(panels["models"]) == 10


def test_models_show_what_is_in_the_file(client: httpx.Client, shelf: Path) -> None:
    answer = client.get("/api/v1/models/topics").json()
    assert answer["facts"]["kind"] == "topics.LDA"
    assert answer["facts"]["size"]["topics"] == 8
    assert answer["bytes"] == (shelf / "topics.mill").stat().st_size
    shape = sorted([8, answer["facts"]["size"]["terms"]])
    assert any(sorted(array["shape"]) == shape for array in answer["arrays"])
    assert client.get("/api/v1/models/people").json()["facts"]["size"] == {"pairs": len(PAIRS)}
    assert client.get("/api/v1/models/nothing").status_code == 404


def test_a_model_that_no_panel_knows_is_still_described(client: httpx.Client) -> None:
    answer = client.get("/api/v1/models/vectors").json()
    assert answer["panels"] == []
    assert answer["facts"]["kind"] == "vectors.TextVectorizer"
    assert client.get("/api/v1/topics/vectors").status_code == 404


def test_a_transducer_is_drawn_and_applied(client: httpx.Client) -> None:
    machine = client.get("/api/v1/transducers/numbers").json()
    assert machine["picture"].startswith("<svg")
    assert "style=" not in machine["picture"]  # which the policy of the page would refuse
    assert "<script>" not in machine["picture"]
    outputs = client.post("/api/v1/transducers/numbers/apply", json={"text": "ten"}).json()
    assert outputs == [{"text": "X", "weight": "1"}, {"text": "10", "weight": "2"}]
    best = client.post("/api/v1/transducers/numbers/apply", json={"text": "ten", "k": 1}).json()
    assert [one["text"] for one in best] == ["X"]
    assert client.post("/api/v1/transducers/numbers/apply", json={"text": "none"}).json() == []
    assert client.post("/api/v1/transducers/numbers/apply", json={"text": "<b>"}).json()[0]["text"] == HOSTILE


def test_machines_of_an_archive_have_keys(client: httpx.Client) -> None:
    assert client.get("/api/v1/transducers/words-2").json()["keys"] == ["other", "plain"]
    answer = client.post("/api/v1/transducers/words-2/apply", json={"text": "a", "key": "plain"}).json()
    assert [one["text"] for one in answer] == ["b"]
    assert client.get("/api/v1/transducers/words-2?key=nobody").status_code == 404


@pytest.mark.parametrize(
    "question",
    [{"text": "x" * 2001}, {"text": "ten", "k": 0}, {"text": "ten", "k": 1000}, {"text": "a", "token_type": "letters"}],
)
def test_a_string_that_cannot_be_applied_is_refused(question: dict[str, Any], client: httpx.Client) -> None:
    answer = client.post("/api/v1/transducers/numbers/apply", json=question)
    assert answer.status_code == 422
    assert answer.json()["error"]


def test_topics_have_words_strengths_and_places(client: httpx.Client, shelf: Path) -> None:
    answer = client.get("/api/v1/topics/topics?words=5").json()
    expected = load(shelf / "topics.mill", expect=LDA).topics(5)
    assert [[word["term"] for word in topic["words"]] for topic in answer["topics"]] == [
        [term for term, _ in topic] for topic in expected
    ]
    assert all(topic["x"] is not None and topic["strength"] > 0 for topic in answer["topics"])
    assert client.get("/api/v1/topics/topics?words=0").status_code == 422


def analyses(client: httpx.Client, text: str) -> dict[str, Analysis]:
    answer = client.post("/api/v1/text", json={"text": text})
    assert answer.status_code == 200, answer.text
    return {one["title"]: Analysis.model_validate(one) for one in answer.json()}


def test_every_model_says_something_of_a_text(client: httpx.Client) -> None:
    said = analyses(client, MIXED)
    assert list(said) == ["Tokens", "Topic boundaries", "Languages", "Topics", "Labels", "Class", "Coherence"]
    assert all(one.fault is None for one in said.values())
    words = [MIXED[span.begin : span.end] for span in said["Tokens"].spans]
    assert words[:3] == ["We", "saw", "Brno"]
    languages = [(span.label, MIXED[span.begin : span.end]) for span in said["Languages"].spans]
    assert "fr" in dict(languages)
    assert "chat" in dict(languages)["fr"]
    places = {MIXED[span.begin : span.end]: span for span in said["Labels"].spans}
    assert places["Brno"].label == "LOC"
    assert 0.5 < (places["Brno"].confidence or 0) <= 1
    assert "".join(MIXED[span.begin : span.end] for span in said["Topic boundaries"].spans) == MIXED
    assert sum(fact.share or 0 for fact in said["Topics"].facts) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("text", ["", " ", "\n\n", "???", "𝔘𝔫𝔦", "a\x00b", HOSTILE, "‮abc", "x" * 5000])
def test_odd_texts_are_analyzed_or_refused_in_words(text: str, client: httpx.Client) -> None:
    for one in analyses(client, text).values():
        for span in one.spans:
            assert 0 <= span.begin < span.end <= len(text)


def test_files_that_read_no_texts_say_so(shelf: Path) -> None:
    from textmill.topics.formats import from_matrix

    from_matrix([[3, 1, 0], [0, 1, 3]]).save(shelf / "matrix.mill")
    said = analyses_of("a text", [open_entry("matrix", str(shelf / "matrix.mill"))])
    assert "no vectorizer" in (said[-1].fault or "")


def test_only_the_files_that_were_asked_answer(client: httpx.Client) -> None:
    answer = client.post("/api/v1/text", json={"text": "the moon", "files": ["subjects"]}).json()
    assert [one["file"] for one in answer] == ["built in", "built in", "subjects"]
    assert client.post("/api/v1/text", json={"text": "the moon", "files": ["words"]}).status_code == 404


def test_decisions_are_stored_and_taken_away_as_gold(client: httpx.Client, tmp_path: Path) -> None:
    page = client.get("/api/v1/names/people").json()
    assert [(pair["id1"], pair["id2"]) for pair in page["pairs"]] == [(pair[0], pair[1]) for pair in PAIRS]
    assert "".join(part["text"] for part in page["pairs"][2]["left"]) == HOSTILE
    for pair, label in zip(PAIRS, ("pos", "neg", "unk"), strict=True):
        decided = client.put("/api/v1/names/people", json={"id1": pair[0], "id2": pair[1], "label": label})
        assert decided.status_code == 200
    assert decided.json() == {"pos": 1, "neg": 1, "unk": 1, "open": 0}
    assert [one["label"] for one in client.get("/api/v1/names/people").json()["pairs"]] == ["pos", "neg", "unk"]
    (tmp_path / "gold.tsv").write_bytes(client.get("/api/v1/names/people/gold").content)
    assert read_gold(tmp_path / "gold.tsv").label("p2", "p1") == "pos"
    back = client.put("/api/v1/names/people", json={"id1": "p1", "id2": "p2", "label": None}).json()
    assert back["open"] == 1
    only = client.get("/api/v1/names/people?status=open").json()
    assert [pair["id1"] for pair in only["pairs"]] == ["p1"]
    assert client.get("/api/v1/names/people", params={"search": "JONES"}).json()["total"] == 1


@pytest.mark.parametrize(
    ("decision", "code"),
    [
        ({"id1": "p1", "id2": "p4", "label": "pos"}, 404),
        ({"id1": "p1", "id2": "p2", "label": "maybe"}, 422),
        ({"id1": "p1", "label": "pos"}, 422),
    ],
)
def test_decisions_about_nothing_are_refused(decision: dict[str, str], code: int, client: httpx.Client) -> None:
    assert client.put("/api/v1/names/people", json=decision).status_code == code


def test_a_server_that_only_shows_stores_nothing(client_of: Clients, paths: tuple[str, ...]) -> None:
    client = client_of(paths, read_only=True)
    decision = {"id1": "p1", "id2": "p2", "label": "pos"}
    grade = {"id": "astronomy-01", "neighbor": "astronomy-02", "method": "words", "grade": "yes"}
    assert client.put("/api/v1/names/people", json=decision).status_code == 403
    assert client.put("/api/v1/articles/judgments", json=grade).status_code == 403
    assert client.get("/api/v1").json()["read_only"] is True


def test_articles_have_the_neighbors_of_all_methods(client: httpx.Client, shelf: Path) -> None:
    answer = client.get("/api/v1/article", params={"id": "astronomy-01", "k": 5})
    article = ArticleAnswer.model_validate_json(answer.content)
    for method in article.methods:
        expected = load(shelf / f"{method.name}.mill", expect=SimilarDocuments).query_ids(["astronomy-01"], k=5)[0]
        assert [one.id for one in method.neighbors] == expected.ids
        assert [one.score for one in method.neighbors] == pytest.approx(expected.scores.tolist())
    again = client.get("/api/v1/article", params={"id": "astronomy-01", "k": 5})
    assert again.content == answer.content  # the second one from memory


def test_a_text_finds_what_the_library_finds(client: httpx.Client, shelf: Path) -> None:
    text = "the moon and the tides"
    short = client.get("/api/v1/search", params={"text": text, "k": 4})
    long = client.post("/api/v1/search", json={"text": text, "k": 4})
    assert short.json() == long.json()
    found = SearchAnswer.model_validate_json(short.content)
    for method in found.methods:
        expected = load(shelf / f"{method.name}.mill", expect=SimilarDocuments).query([text], k=4)[0]
        assert [one.id for one in method.neighbors] == expected.ids
    unknown = client.get("/api/v1/search", params={"text": "zzzz qqqq"}).json()["methods"][0]
    assert unknown["neighbors"] == []
    assert "known" in unknown["reason"]


@pytest.mark.parametrize("id", ["a/b?c=\"d\"&'e'", "x" * 10_000])
def test_odd_ids_are_found(id: str, client: httpx.Client) -> None:  # noqa: A002
    answer = client.get("/api/v1/article", params={"id": id})
    assert answer.status_code == 200
    assert answer.json()["id"] == id


@pytest.mark.parametrize("id", ["", "nobody", "../words", "\x00", "astronomy-01 "])
def test_unknown_ids_are_not_found(id: str, client: httpx.Client) -> None:  # noqa: A002
    assert client.get("/api/v1/article", params={"id": id}).status_code == 404


def test_judgments_are_stored_by_article_and_method(client: httpx.Client) -> None:
    grade = {"id": "astronomy-01", "neighbor": "astronomy-10", "method": "words", "grade": "partly"}
    assert client.put("/api/v1/articles/judgments", json=grade).status_code == 204
    assert client.get("/api/v1/articles/judgments?id=astronomy-01").json() == [grade]
    assert client.put("/api/v1/articles/judgments", json=grade | {"grade": None}).status_code == 204
    assert client.get("/api/v1/articles/judgments?id=astronomy-01").json() == []
    assert client.put("/api/v1/articles/judgments", json=grade | {"neighbor": "nobody"}).status_code == 404
    assert client.put("/api/v1/articles/judgments", json=grade | {"method": "none"}).status_code == 404
    assert client.put("/api/v1/articles/judgments", json=grade | {"grade": "great"}).status_code == 422


def test_articles_are_listed_by_the_letters_of_their_titles(client: httpx.Client) -> None:
    assert client.get("/api/v1/articles", params={"search": "MOON"}).json()["total"] == 1
    page = client.get("/api/v1/articles", params={"first": 270, "count": 10}).json()
    assert page["total"] == 274
    assert len(page["articles"]) == 4
    assert page["articles"][2]["title"].startswith("<script>")


def test_the_description_of_the_api_has_a_type_for_every_answer(client: httpx.Client) -> None:
    description = client.get("/api/v1/openapi.json").json()
    assert description["openapi"].startswith("3.1")
    for path, methods in description["paths"].items():
        for method, one in methods.items():
            answers = {code: answer for code, answer in one["responses"].items() if code.startswith("2")}
            assert answers, (path, method)
            for code, answer in answers.items():
                if code != "204" and path not in ("/metrics", "/api/v1/names/{name}/gold"):
                    assert answer["content"]["application/json"]["schema"], path
    page = client.get("/api/docs").text
    assert "/static/swagger/swagger-ui-bundle.js" in page
    assert "http" not in page.replace("https://", "http").split("<body>")[1]
    assert client.get("/static/swagger/swagger-ui-bundle.js").status_code == 200


def test_models_of_single_jobs_speak_of_a_text(tmp_path: Path, client_of: Clients) -> None:
    easy = ["The mill is old. It turns.", "A dog ran. It was big.", "We eat bread. It is good."]
    hard = [
        "Although perplexity characterizes probabilistic models, practitioners nevertheless hesitate.",
        "Notwithstanding considerable uncertainty, the committee recommended immediate implementation.",
        "Statistical dependencies among observations complicate subsequent interpretation considerably.",
    ]
    models = {
        "names": EntityRecognizer().fit([["Ana", "ve", "Lima"]] * 5, [["B-PER", "O", "B-LOC"]] * 5),
        "sentences": FluencyModel(n_classes=8, order=2, min_count=1).fit(sample_documents(60)),
        "levels": ReadabilityGrader(features=["shallow"]).fit(easy + hard, ["easy"] * 3 + ["hard"] * 3),
        "sounds": PronunciationModel(context=0).fit(["ab", "ba"], ["A B", "B A"]),
        "codes": SubjectClassifier().fit(easy + hard, ["20D05"] * 3 + ["62P10"] * 3),
    }
    for name, model in models.items():
        model.save(tmp_path / f"{name}.mill")
    client = client_of(tuple(str(tmp_path / f"{name}.mill") for name in models))
    text = "Ana ve Lima. The sees river old the miller of. Baab!"
    answers = client.post("/api/v1/text", json={"text": text, "files": list(models)}).json()
    said = {one["title"]: Analysis.model_validate(one) for one in answers}
    assert [one.fault for one in said.values()] == [None] * 7
    names = {text[span.begin : span.end]: span for span in said["Names"].spans}
    assert (names["Ana"].label, names["Lima"].label) == ("PER", "LOC")
    assert all(0 < (span.confidence or 0) <= 1 for span in names.values())
    assert said["Sentences"].facts[0].name == "sentences that read right"
    assert "The sees river old the miller of." in [text[one.begin : one.end] for one in said["Sentences"].spans]
    levels = said["Reading level"].facts
    assert {fact.name for fact in levels[1:3]} == {"easy", "hard"}
    assert sum(fact.share or 0 for fact in levels[1:3]) == pytest.approx(1)
    spoken = {text[span.begin : span.end]: span.label for span in said["Sounds"].spans}
    assert spoken["Baab"] == "B A A B"
    assert [fact.name for fact in said["Subject codes"].facts][:2] in (["20D05", "62P10"], ["62P10", "20D05"])
    empty = client.post("/api/v1/text", json={"text": " . ", "files": ["names", "sentences", "sounds"]}).json()
    assert [one["fault"] for one in empty] == [None] * 5
