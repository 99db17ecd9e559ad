"""Sample pages for demonstrations: as many as wanted, each on one subject, with an aside on another here and there.

Real collections of pages are too large to come with the package, and its articles too few and too short to learn topics
from. So a small grammar writes pages: patterns of sentences, filled with the nouns, verbs and adjectives of a subject
and with words that all subjects share; about one sentence in ten is on a second subject. Page i depends on the seed and
on i only. Text and word lists were written for textmill and are dedicated to the public domain (CC0 1.0).
"""

from __future__ import annotations

import numpy as np

from textmill.corpus import Document
from textmill.model import check_range

__all__ = ["sample_pages"]

_ASIDE = 0.1  # share of sentences on a second subject
_COMMON = 0.25  # share of words that all subjects share
_LENGTHS = (15, 45)  # sentences of a page

# nouns; verbs in the past tense; adjectives
_SUBJECTS = {
    "bakery": (
        "flour dough oven loaf crust yeast baker pastry butter rye sourdough bun croissant salt kneader counter recipe "
        "batch tray sesame pretzel almond cinnamon sugar cake wheat bran starter apprentice rack",
        "kneaded baked proved sliced glazed sifted rolled browned weighed folded dusted mixed rested shaped",
        "crusty warm golden fresh floury sweet salted dense fragrant buttery stale toasted",
    ),
    "bank": (
        "loan deposit branch interest mortgage lender rate account bond credit share dividend capital reserve cashier "
        "default overdraft saver investor currency debt audit portfolio broker fee treasury yield inflation",
        "lent borrowed invested refinanced audited hedged repaid deposited withdrew insured financed underwrote",
        "fixed annual monthly risky liquid secured foreign quarterly nominal solvent fiscal monetary",
    ),
    "clinic": (
        "patient doctor nurse ward fever dose vaccine surgeon symptom diagnosis tablet infection wound pulse lung "
        "kidney x-ray therapy virus artery clinic stethoscope allergy bandage injection blood tumour antibiotic",
        "treated diagnosed prescribed examined vaccinated bandaged injected recovered coughed operated healed infected",
        "chronic acute feverish sterile clinical contagious swollen painful surgical allergic dizzy inflamed",
    ),
    "court": (
        "judge jury lawyer verdict witness trial appeal sentence defendant plaintiff statute testimony evidence "
        "prosecutor barrister bail oath felony tribunal clause custody lawsuit damages magistrate injunction",
        "ruled sued testified convicted acquitted appealed prosecuted sentenced objected pleaded settled dismissed",
        "guilty legal innocent civil criminal liable binding unlawful sworn constitutional judicial",
    ),
    "football": (
        "striker goalkeeper referee penalty midfield coach stadium corner league defender captain header offside cup "
        "fixture substitute tackle half-time whistle winger dribble pitch derby transfer fan championship",
        "scored defended tackled dribbled equalised kicked saved booked substituted headed crossed qualified",
        "unbeaten goalless away attacking defensive injured late aggregate relegated winning professional",
    ),
    "harbour": (
        "ship cargo crane pier container tide vessel anchor freight dock tug sailor mast hull "
        "lighthouse buoy trawler ferry deck quay mooring shipyard cod net gale customs pilot",
        "sailed docked anchored unloaded towed moored dredged steered shipped drifted hauled launched",
        "maritime rusty coastal nautical seaworthy tidal foggy laden offshore stormy salty",
    ),
    "observatory": (
        "telescope comet galaxy star planet orbit astronomer eclipse nebula lens mirror moon meteor crater spectrum "
        "supernova asteroid satellite gravity dome pulsar constellation sunspot parallax quasar horizon",
        "observed orbited magnified recorded calculated eclipsed photographed tracked detected aligned rotated",
        "stellar faint lunar bright celestial distant orbital solar radiant cosmic galactic",
    ),
    "orchard": (
        "apple pear blossom tree harvest bee hive frost soil root pruner plum cherry graft seedling "
        "orchardist cider ladder basket fertiliser rain leaf bark fungus aphid compost hedge pollen",
        "pruned grafted harvested pollinated ripened watered planted sprayed picked bloomed mulched withered",
        "ripe juicy leafy green sour organic bushy fertile thorny shady seasonal",
    ),
    "orchestra": (
        "violin conductor symphony cello rehearsal concert trumpet score melody audience flute overture soloist rhythm "
        "composer sonata choir string bassoon tempo harmony movement encore baton oboe chord",
        "played conducted rehearsed composed tuned performed sang applauded bowed improvised orchestrated",
        "harmonic slow melodic loud baroque rhythmic solo romantic choral muted classical",
    ),
    "railway": (
        "train track locomotive station platform signal carriage timetable passenger tunnel rail bridge "
        "ticket gauge driver brake sleeper junction points viaduct commuter wagon coupling cutting",
        "departed arrived braked coupled electrified shunted derailed boarded accelerated delayed signalled inspected",
        "express electric double-track narrow-gauge punctual crowded overhead steep mainline suburban",
    ),
}
_SHARED = (
    "town year people work day plan report city group house country week office family road market school story "
    "question friend meeting season problem place hour morning price visit idea neighbour",
    "opened started finished changed moved found watched followed repaired discussed reached counted praised",
    "old new large small local quiet difficult young long important careful popular",
)
_PATTERNS = (
    "The {a} {n} {v} the {n} near the {n}.",
    "In the {n} a {a} {n} {v} every {n}.",
    "When the {n} {v}, the {n} and the {n} were {a}.",
    "A {n} with a {a} {n} {v} the {n} for the {n}.",
    "Nobody {v} the {n}, because the {n} was too {a}.",
    "The {n} of the {n} {v} the {a} {n} again.",
    "After the {n} they {v} a {n}, a {n} and a {a} {n}.",
    "Was the {n} {a}, or had the {n} {v} the {n}?",
    "Each {n} {v} its {n} before the {a} {n}.",
    "According to the {n}, the {n} {v} and the {a} {n} {v}.",
)


def sample_pages(pages: int = 400, *, random_state: int = 0) -> list[Document]:
    """Write pages, each with its subject as a field.

    >>> pages = sample_pages(3, random_state=1)
    >>> [page.id for page in pages], pages == sample_pages(5, random_state=1)[:3]
    (['page-0', 'page-1', 'page-2'], True)
    """
    check_range("pages", pages, at_least=0, whole=True)
    check_range("random_state", random_state, at_least=0, below=2**32, whole=True)
    subjects = sorted(_SUBJECTS)
    documents = []
    for page in range(pages):
        random = np.random.default_rng([random_state, page])
        main, aside = random.choice(len(subjects), 2, replace=False)
        count = int(random.integers(*_LENGTHS))
        chosen = [subjects[aside if random.random() < _ASIDE else main] for _ in range(count)]
        text = " ".join(_sentence(subject, random) for subject in chosen)
        documents.append(Document(f"page-{page}", text, {"subject": subjects[main]}, "sample pages", page + 1))
    return documents


def _sentence(subject: str, random: np.random.Generator) -> str:
    """A pattern with its gaps filled."""
    parts = _PATTERNS[int(random.integers(len(_PATTERNS)))].split("{")
    sentence = parts[0]
    for part in parts[1:]:
        lists = _SHARED if random.random() < _COMMON else _SUBJECTS[subject]
        words = lists["nva".index(part[0])].split()
        rank = int(len(words) * random.random() ** 1.5)  # some words are more common than others
        sentence += words[rank].replace("-", " ") + part[2:]
    return sentence
