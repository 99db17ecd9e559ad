"""Made-up news in Spanish with names of people, places and organizations, for examples and tests.

Sentences come from patterns whose gaps are filled with names; some names are two things (Córdoba is a place and a
club's name), some common words begin a sentence with a capital. Every sample is made anew from `random_state`.
"""

from __future__ import annotations

import random

from textmill.corpus import Sentence
from textmill.model import check_range

__all__ = ["sample_entities"]

_FIRST = [
    "Ana",
    "Luis",
    "Marta",
    "Pedro",
    "Elena",
    "Javier",
    "Lucía",
    "Andrés",
    "Carmen",
    "Raúl",
    "Sofía",
    "Diego",
    "Irene",
    "Tomás",
    "Julia",
    "Óscar",
]
_LAST = [
    "García",
    "Ruiz",
    "Peña",
    "Álvarez",
    "Soto",
    "Molina",
    "Vega",
    "Ibáñez",
    "Lara",
    "Campos",
    "Rivas",
    "Nieto",
    "Ortega",
    "Salas",
    "Prado",
    "Gil",
]
_PLACES = [
    "Madrid",
    "Lima",
    "Quito",
    "Sevilla",
    "Bogotá",
    "Mérida",
    "Córdoba",
    "Valencia",
    "Caracas",
    "Bilbao",
    "Cuzco",
    "Toledo",
]
_PLACES += ["Buenos Aires", "San Sebastián", "La Paz", "Ciudad Real"]
_HEADS = ["Banco", "Universidad", "Ministerio", "Grupo", "Instituto", "Federación", "Fundación", "Partido"]
_TAILS = ["Central", "Nacional", "Popular", "Andino", "Liberal", "Atlántico", "de Córdoba", "de Toledo", "del Sur"]
_CLUBS = ["Atlético", "Deportivo", "Real", "Racing"]
_EVENTS = ["Copa América", "Feria del Libro", "Ley de Aguas", "Vuelta a España", "Premio Nacional"]

_PATTERNS = (
    "El presidente de {ORG} , {PER} , viajó ayer a {LOC} .",
    "{PER} nació en {LOC} y trabaja en {ORG} .",
    "La empresa {ORG} abrirá una sede en {LOC} .",
    "Según {PER} , la reunión de {LOC} fue útil .",
    "{CLUB} ganó en {LOC} con dos goles de {PER} .",
    "{LOC} , {DAY} may ( EFE ) .",
    "En {LOC} no llovió durante la semana .",
    "El partido entre {CLUB} y {CLUB} terminó sin goles .",
    "Los vecinos de {LOC} esperan a {PER} .",
    "El ministro dijo que {ORG} pagará las obras .",
    "Mañana comienza la {MISC} en {LOC} .",
    "{PER} presentó la {MISC} ante la prensa .",
    "Ayer el precio del pan subió otra vez .",
    "Nadie quiso hablar de la crisis .",
    "La portavoz de {ORG} , {PER} , habló de la {MISC} .",
    "Fuentes de {ORG} negaron el acuerdo con {ORG} .",
)


def sample_entities(n_sentences: int = 400, random_state: int = 0) -> list[Sentence]:
    """Return made-up sentences with columns word and tag (IOB2).

    >>> for sentence in sample_entities(2, random_state=3):
    ...     print(" ".join(sentence.column("word")))
    ...     print(" ".join(sentence.column("tag")))
    El partido entre Deportivo Toledo y Racing Quito terminó sin goles .
    O O O B-ORG I-ORG O B-ORG I-ORG O O O O
    El presidente de Partido Liberal , Óscar Vega , viajó ayer a Ciudad Real .
    O O O B-ORG I-ORG O B-PER I-PER O O O O B-LOC I-LOC O
    """
    check_range("n_sentences", n_sentences, at_least=1, whole=True)
    draw = random.Random(random_state)
    sentences = []
    for number in range(n_sentences):
        words: list[str] = []
        tags: list[str] = []
        for piece in draw.choice(_PATTERNS).split():
            gap = piece.strip("{}") if piece.startswith("{") else ""
            name = _name(gap, draw).split() if gap else [piece]
            words += name
            label = {"CLUB": "ORG", "DAY": "", "": ""}.get(gap, gap)
            tags += [f"{'I' if i else 'B'}-{label}" if label else "O" for i in range(len(name))]
        sentences.append(Sentence((tuple(words), tuple(tags)), ("word", "tag"), line=number + 1))
    return sentences


def _name(gap: str, draw: random.Random) -> str:
    if gap == "PER":
        last = [draw.choice(_LAST) for _ in range(draw.choice((0, 1, 1, 2)))]
        return " ".join([draw.choice(_FIRST), *last])
    if gap == "ORG":
        return f"{draw.choice(_HEADS)} {draw.choice(_TAILS)}"
    if gap == "CLUB":
        return f"{draw.choice(_CLUBS)} {draw.choice(_PLACES)}"
    if gap == "DAY":
        return str(draw.randint(1, 31))
    return draw.choice(_EVENTS if gap == "MISC" else _PLACES)
