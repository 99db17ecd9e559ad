"""The panel of names: pairs to review, decisions that are stored and can be taken away as gold.

Decisions are those of `textmill match`: pos (the same), neg (others), unk (nobody can tell). They are kept in the file
of judgments under the name of the list, so several people may review at the same time; the last decision counts.
"""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel

from textmill.tasks.names import PairRow
from textmill.web.answers import Refusal
from textmill.web.pairs import PairList
from textmill.web.service import Service

__all__ = ["Decision", "Pair", "PairPage", "Part", "names_router"]

_PAGE = 200  # pairs of a page at most


class Part(BaseModel):
    """A part of a name: how alike its partner is, and whether just this part differs."""

    text: str
    strength: float
    differs: bool


class Pair(BaseModel):
    """Two names, their score, and what was decided."""

    id1: str
    id2: str
    score: float
    left: list[Part]
    right: list[Part]
    label: str | None


class PairPage(BaseModel):
    """Some pairs, how many there are of this sort, and how many are decided in all."""

    name: str
    pairs: list[Pair]
    total: int
    counts: dict[str, int]


class Decision(BaseModel):
    """What is decided about a pair; None takes a decision back."""

    id1: str
    id2: str
    label: Literal["pos", "neg", "unk"] | None


def names_router(service: Service) -> APIRouter:
    """The addresses of this panel."""
    router = APIRouter(prefix="/names", tags=["names"])

    @router.get("/{name}")
    async def pairs(
        name: str,
        first: int = 0,
        count: int = 50,
        status: Literal["all", "open", "pos", "neg", "unk"] = "all",
        search: str = "",
    ) -> PairPage:
        """Pairs of a list, the most similar first."""
        entry = service.library.get(name, "names")
        if first < 0 or not 1 <= count <= _PAGE:
            raise Refusal(422, f"first must be at least 0, and count lie from 1 to {_PAGE}")
        return await service.desk.run(_page, service, entry.name, entry.value, first, count, status, search)

    @router.put("/{name}")
    async def decide(name: str, decision: Decision) -> dict[str, int]:
        """Store a decision; returns how many there are of each."""
        service.check_writable()
        entry = service.library.get(name, "names")
        if (decision.id1, decision.id2) not in entry.value:
            raise Refusal(404, "the list has no such pair")
        return await service.desk.run(_decide, service, entry.name, entry.value, decision)

    @router.get(
        "/{name}/gold", response_class=Response, responses={200: {"content": {"text/tab-separated-values": {}}}}
    )
    async def gold(name: str) -> Response:
        """All decisions as a gold file: id, tab, id, tab, label."""
        entry = service.library.get(name, "names")
        decided = await service.desk.run(service.judgments.of, "names", entry.name)
        rows = [
            (one.one, one.other, one.label)
            for one in decided
            if not any(mark in part for part in (one.one, one.other) for mark in "\t\r\n")
        ]
        lines = "".join("\t".join(row) + "\n" for row in rows)
        headers = {"content-disposition": 'attachment; filename="gold.tsv"'}
        return Response(lines.encode(), media_type="text/tab-separated-values; charset=utf-8", headers=headers)

    return router


def _labels(service: Service, name: str) -> dict[tuple[str, str], str]:
    return {(one.one, one.other): one.label for one in service.judgments.of("names", name)}


def _page(service: Service, name: str, pairs: PairList, first: int, count: int, status: str, search: str) -> PairPage:
    labels = _labels(service, name)
    wanted = search.casefold().strip()

    def fits(row: PairRow) -> bool:
        label = labels.get((row.id1, row.id2))
        if status != "all" and (label or "open") != status:
            return False
        return not wanted or any(wanted in part.casefold() for part in (row.id1, row.id2, row.name1, row.name2))

    rows = [row for row in pairs.rows if fits(row)]
    shown = [_pair(pairs, row, labels.get((row.id1, row.id2))) for row in rows[first : first + count]]
    return PairPage(name=name, pairs=shown, total=len(rows), counts=_counts(pairs, labels))


def _pair(pairs: PairList, row: PairRow, label: str | None) -> Pair:
    proposal = pairs.proposal(row)
    sides = [
        [Part(text=text, strength=strength, differs=differs) for text, strength, differs in side]
        for side in (proposal.left, proposal.right)
    ]
    return Pair(id1=row.id1, id2=row.id2, score=row.score, left=sides[0], right=sides[1], label=label)


def _counts(pairs: PairList, labels: dict[tuple[str, str], str]) -> dict[str, int]:
    counts = {"pos": 0, "neg": 0, "unk": 0}
    for pair, label in labels.items():
        if pair in pairs:
            counts[label] += 1
    return counts | {"open": len(pairs) - sum(counts.values())}


def _decide(service: Service, name: str, pairs: PairList, decision: Decision) -> dict[str, int]:
    service.judgments.put("names", name, decision.id1, decision.id2, decision.label)
    service.tally.add("judgments")
    return _counts(pairs, _labels(service, name))
