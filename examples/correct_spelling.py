"""Correct words by a list of words with their frequencies, by transducers.

python examples/correct_spelling.py becuase diffrent --best 3
python examples/correct_spelling.py --corpus my_articles.jsonl --save corrector.fst recieve
python examples/correct_spelling.py                        # a few words, by the sample articles
"""

from __future__ import annotations

import argparse
import math

from textmill import fst
from textmill.corpus import Vocabulary, read_documents, sample_path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("words", nargs="*", default=["becuase", "diffrent", "tempreature", "wether"])
parser.add_argument("--corpus", default=str(sample_path()), help="texts whose words are right")
parser.add_argument("--best", type=int, default=3, help="answers for a word")
parser.add_argument("--save", help="write the corrector as an OpenFst file")
arguments = parser.parse_args()

vocabulary = Vocabulary(min_df=2).fit(document.text for document in read_documents(arguments.corpus))
counts = dict(zip(vocabulary.terms_, vocabulary.collection_frequency_.tolist(), strict=True))
words = {word: count for word, count in counts.items() if word.isalpha()}
total = sum(words.values())
lexicon = fst.optimize(fst.string_map([(word, word, -math.log(count / total)) for word, count in words.items()]))

# two errors at most, each as unlikely as e^-8: a copy of the machine for 0, 1 and 2 errors
letters = sorted(set("".join(words)))
edit = fst.Fst()
edit.start = edit.add_states(3)[0]
for errors in range(3):
    edit.set_final(errors)
    for x in map(ord, letters):
        edit.add_arc(errors, x, x, 0.0, errors)
        if errors < 2:
            edit.add_arc(errors, x, fst.EPSILON, 8.0, errors + 1)  # one too many
            edit.add_arc(errors, fst.EPSILON, x, 8.0, errors + 1)  # one missing
            swap = edit.add_states(len(letters))
            for middle, y in zip(swap, map(ord, letters), strict=True):
                if x != y:
                    edit.add_arc(errors, x, y, 8.0, errors + 1)  # another one
                    edit.add_arc(errors, x, y, 7.0, middle)  # two exchanged
                    edit.add_arc(middle, y, x, 0.0, errors + 1)

corrector = fst.compose(fst.connect(edit), lexicon)
print(f"{len(words)} words in {lexicon.num_states} states; the corrector has {corrector.num_arcs} arcs")
if arguments.save:
    fst.write_fst(corrector, arguments.save)
for word, found in zip(arguments.words, fst.apply(corrector, arguments.words, k=arguments.best), strict=True):
    print(f"{word}: {', '.join(f'{answer} ({cost:.1f})' for answer, cost in found) or 'no word is near'}")
