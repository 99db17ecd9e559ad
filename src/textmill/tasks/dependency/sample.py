"""Sample sentences for demonstrations: Japanese with right heads, as many as wanted.

Treebanks are too large to come with the package, and mostly not free. So a small grammar writes sentences: predicates
with their arguments, nouns with adjectives, other nouns or whole clauses in front of them, and clauses that lead to the
main one. A topic (は) belongs to the main clause, a subject (が) to the nearest, に to a verb of giving and で to any
other: some heads show in a particle, a form or a comma, others only in a particle and a verb together. Sentence s
depends on the seed and on s only. Words and grammar were written for textmill and are dedicated to the public domain
(CC0 1.0).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from textmill.corpus import Bunsetsu, KnpSentence, Morpheme
from textmill.model import check_range

__all__ = ["sample_sentences"]

_NOUNS = (
    "犬/いぬ 猫/ねこ 先生/せんせい 学生/がくせい 子供/こども 町/まち 店/みせ 本/ほん 手紙/てがみ "
    "駅/えき 山/やま 川/かわ "
    "魚/さかな 花/はな 料理/りょうり 友達/ともだち 電車/でんしゃ 車/くるま 公園/こうえん 部屋/へや "
    "音楽/おんがく 窓/まど"
)
_TIMES = "昨日/きのう 今日/きょう 毎朝/まいあさ 夜/よる 去年/きょねん"
_ADJECTIVES = "大き/おおき 小さ/ちいさ 古/ふる 新し/あたらし 美し/うつくし 静か/しずか 高/たか"
# stem, reading, dictionary ending, ending before て and た, inflection
_VERBS = (
    "食べ たべ る - 母音動詞|見 み る - 母音動詞|開け あけ る - 母音動詞|忘れ わすれ る - 母音動詞|"
    "集め あつめ る - 母音動詞|"
    "書 か く い 子音動詞カ行|聞 き く い 子音動詞カ行|探 さが す し 子音動詞サ行|話 はな す し 子音動詞サ行|"
    "作 つく る っ 子音動詞ラ行|送 おく る っ 子音動詞ラ行|買 か う っ 子音動詞ワ行|"
    "待 ま つ っ 子音動詞タ行|持 も つ っ 子音動詞タ行"
)
_GIVING = ("送", "書", "話", "集め")  # verbs that take に
_TOPIC, _CLAUSE, _TIME, _DEPTH = 0.6, 0.45, 0.35, 2  # shares of sentences with these; nouns within nouns at most


@dataclass
class _Part:
    """A run of bunsetsus, all below the last one, whose own head is still open."""

    units: list[tuple[Morpheme, ...]] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)  # counted from the first unit of the part

    def below(self, *parts: _Part) -> _Part:
        """This part with others in front of it, which depend on its last bunsetsu."""
        whole = _Part()
        last = sum(len(part.units) for part in parts) + len(self.units) - 1
        for part in (*parts, self):
            shift = len(whole.units)
            whole.units += part.units
            whole.heads += [head + shift for head in part.heads[:-1]] + [last]
        return whole


def sample_sentences(sentences: int = 500, *, random_state: int = 0) -> list[KnpSentence]:
    """Write sentences with their heads.

    >>> sentence = sample_sentences(2)[1]
    >>> print(" ".join(bunsetsu.text for bunsetsu in sentence.bunsetsus), sentence.heads)
    山が 犬を 探したので、 山を 持った。 (2, 2, 4, 4, -1)
    """
    check_range("sentences", sentences, at_least=0, whole=True)
    check_range("random_state", random_state, at_least=0, below=2**32, whole=True)
    written = []
    for number in range(sentences):
        part = _sentence(np.random.default_rng([random_state, number]))
        heads = [*part.heads[:-1], -1]
        bunsetsus = tuple(Bunsetsu(unit, head) for unit, head in zip(part.units, heads, strict=True))
        written.append(KnpSentence(bunsetsus, (f"# S-ID:sample-{number + 1}",), "sample sentences", number + 1))
    return written


def _sentence(random: np.random.Generator) -> _Part:
    form, ending = ("基本形", "") if random.random() < 0.4 else ("タ形", "た")
    verb = _pick(random, _VERBS, "|")
    front = []
    if random.random() < _TOPIC:
        front.append(_noun(random, 1, "は", "副助詞", comma=random.random() < 0.4))
    if random.random() < _TIME:
        front.append(_Part([(_word(random, _TIMES, "名詞", "時相名詞"),)], [0]))
    if random.random() < _CLAUSE:
        front.append(_clause(random))
    return _verb(verb, form, ending, sign="。").below(*front, *_arguments(random, verb, _DEPTH))


def _clause(random: np.random.Generator) -> _Part:
    """A clause that leads to the main one."""
    verb = _pick(random, _VERBS, "|")
    sign = "、" if random.random() < 0.6 else ""
    if random.random() < 0.6:
        clause = _verb(verb, "タ系連用テ形", "て", sign=sign)
    else:
        because = Morpheme("ので", "ので", "のだ", "助動詞", "*", "ナ形容詞", "ダ列基本連用形")
        clause = _verb(verb, "タ形", "た", because, sign=sign)
    return clause.below(*_arguments(random, verb, 1))


def _arguments(random: np.random.Generator, verb: str, depth: int) -> list[_Part]:
    """What stands in front of a verb: one to three nouns with their particles."""
    shares = {"が": 0.35 if depth else 0.0, "に" if verb.startswith(_GIVING) else "で": 0.6, "を": 0.75}
    chosen = [particle for particle, share in shares.items() if random.random() < share] or ["を"]
    return [_noun(random, depth, particle, "格助詞") for particle in chosen]


def _noun(random: np.random.Generator, depth: int, particle: str, subpos: str, *, comma: bool = False) -> _Part:
    """A noun with its particle, and at times something in front of it."""
    noun = _word(random, _NOUNS, "名詞", "普通名詞")
    unit = [noun, Morpheme(particle, particle, particle, "助詞", subpos)]
    if comma:
        unit.append(Morpheme("、", "、", "、", "特殊", "読点"))
    head = _Part([tuple(unit)], [0])
    kind = random.random()
    if depth == 0 or kind < 0.4:
        return head
    if kind < 0.55:
        return head.below(_adjective(random))
    if kind < 0.7:
        return head.below(_noun(random, depth - 1, "の", "接続助詞"))
    verb = _pick(random, _VERBS, "|")
    return head.below(_verb(verb, "タ形", "た").below(*_arguments(random, verb, 0)))


def _adjective(random: np.random.Generator) -> _Part:
    stem, reading = _pick(random, _ADJECTIVES).split("/")
    ending, kind = ("な", "ナ形容詞") if stem == "静か" else ("い", "イ形容詞")
    lemma = stem + ("だ" if ending == "な" else "い")
    form = "ダ列基本連体形" if ending == "な" else "基本形"
    return _Part([(Morpheme(stem + ending, reading + ending, lemma, "形容詞", "*", kind, form),)], [0])


def _verb(verb: str, form: str, ending: str, *particles: Morpheme, sign: str = "") -> _Part:
    stem, reading, plain, joint, inflection = verb.split(" ")
    end = plain if not ending else joint.replace("-", "") + ending
    word = Morpheme(stem + end, reading + end, stem + plain, "動詞", "*", inflection, form)
    signs = (Morpheme(sign, sign, sign, "特殊", "句点" if sign == "。" else "読点"),) if sign else ()
    return _Part([(word, *particles, *signs)], [0])


def _word(random: np.random.Generator, words: str, pos: str, subpos: str) -> Morpheme:
    surface, reading = _pick(random, words).split("/")
    return Morpheme(surface, reading, surface, pos, subpos)


def _pick(random: np.random.Generator, words: str, separator: str = " ") -> str:
    chosen = words.split(separator)
    return chosen[int(random.integers(len(chosen)))]
