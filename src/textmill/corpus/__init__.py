"""Documents, tokens, vocabularies, bags of words, columns and trees: text on its way in.

readers, streams, writers   files, folders and pipes, plain or compressed, into records and documents
tokenize, variants          words, sentences, character n-grams; spellings that mean the same
phrases                     neighboring words that belong together
vocabulary, hashing         terms with their frequencies; columns by hash
bags, bagfiles, bagwriters  sparse rows of counts, and their file formats
dictionaries, arpa          term lists and back-off models of other tools
function_words              words that say little about a subject
chains, summary             streams in chains; a corpus in figures
tokens                      tagged sentences from columns or CoNLL-U, whichever a file holds
columns, iob                CoNLL columns, CoNLL-U, and the tag schemes IOB1, IOB2, IOBES, BILOU
choi                        texts with known segments
knp                         bunsetsus and dependencies of Japanese sentences
trees                       bracketed trees
reviews                     star reviews
sentences                   documents as a stream of sentences
synthetic                   seeded streams of any length
typed_segments              sentences with names of several classes, drawn at random
sample                      the articles that come with the package
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.corpus.arpa import Arpa, ArpaOrder, read_arpa, write_arpa
    from textmill.corpus.bagfiles import BagFile, bag_format, read_bags
    from textmill.corpus.bags import array_like, check_bags, csr_arrays, load_npz, remap, save_npz, widened
    from textmill.corpus.bagwriters import convert_bags, write_bags
    from textmill.corpus.chains import Chain, is_one_shot, rechunk, require_passes
    from textmill.corpus.choi import parse_choi, read_choi, write_choi
    from textmill.corpus.columns import Sentence, read_columns, read_conllu, write_columns
    from textmill.corpus.counting import Cutter, TokenizerLike, byte_count, texts_of
    from textmill.corpus.dictionaries import read_dictionary, read_terms, write_dictionary, write_terms
    from textmill.corpus.features import NamedFeatures
    from textmill.corpus.formulas import FormulaTokenizer, canonical_formula, is_formula
    from textmill.corpus.function_words import FUNCTION_WORDS
    from textmill.corpus.hashing import HashedBags
    from textmill.corpus.iob import (
        SCHEMES,
        RepairedTags,
        Span,
        check_tags,
        convert_tags,
        guess_scheme,
        repair_tags,
        spans_of,
        tags_of,
    )
    from textmill.corpus.knp import BasicPhrase, Bunsetsu, KnpSentence, Morpheme, read_knp, write_knp
    from textmill.corpus.phrases import ENGLISH_CONNECTORS, Phrases
    from textmill.corpus.readers import (
        Document,
        Documents,
        Opened,
        Record,
        SkippedRecords,
        open_bytes,
        open_lines,
        open_source,
        read_documents,
        read_records,
        writer,
    )
    from textmill.corpus.sample import sample_articles, sample_chunks, sample_path, sample_texts
    from textmill.corpus.sentences import Sentences
    from textmill.corpus.splitters import split_documents
    from textmill.corpus.stop_words import function_words_of
    from textmill.corpus.streams import BadRecords, Source, read_text, source_name
    from textmill.corpus.summary import CorpusReport, corpus_report
    from textmill.corpus.synthetic import DriftingStream, TopicStream, ZipfStream
    from textmill.corpus.tokenize import (
        CharacterNgrams,
        PatternTokenizer,
        Tokenizer,
        normalizer,
        sentence_spans,
        snowball,
        split_sentences,
        text_batches,
    )
    from textmill.corpus.tokens import check_tagged, read_tagged
    from textmill.corpus.trees import Tree, parse_tree, read_trees
    from textmill.corpus.typed_segments import TypedSegments
    from textmill.corpus.variants import VariantTokenizer
    from textmill.corpus.vocabulary import Bags, Vocabulary
    from textmill.corpus.writers import binary_writer

__all__ = [
    "ENGLISH_CONNECTORS",
    "FUNCTION_WORDS",
    "SCHEMES",
    "Arpa",
    "ArpaOrder",
    "BadRecords",
    "BagFile",
    "Bags",
    "BasicPhrase",
    "Bunsetsu",
    "Chain",
    "CharacterNgrams",
    "CorpusReport",
    "Cutter",
    "Document",
    "Documents",
    "DriftingStream",
    "FormulaTokenizer",
    "HashedBags",
    "KnpSentence",
    "Morpheme",
    "NamedFeatures",
    "Opened",
    "PatternTokenizer",
    "Phrases",
    "Record",
    "RepairedTags",
    "Sentence",
    "Sentences",
    "SkippedRecords",
    "Source",
    "Span",
    "Tokenizer",
    "TokenizerLike",
    "TopicStream",
    "Tree",
    "TypedSegments",
    "VariantTokenizer",
    "Vocabulary",
    "ZipfStream",
    "array_like",
    "bag_format",
    "binary_writer",
    "byte_count",
    "canonical_formula",
    "check_bags",
    "check_tagged",
    "check_tags",
    "convert_bags",
    "convert_tags",
    "corpus_report",
    "csr_arrays",
    "function_words_of",
    "guess_scheme",
    "is_formula",
    "is_one_shot",
    "load_npz",
    "normalizer",
    "open_bytes",
    "open_lines",
    "open_source",
    "parse_choi",
    "parse_tree",
    "read_arpa",
    "read_bags",
    "read_choi",
    "read_columns",
    "read_conllu",
    "read_dictionary",
    "read_documents",
    "read_knp",
    "read_records",
    "read_tagged",
    "read_terms",
    "read_text",
    "read_trees",
    "rechunk",
    "remap",
    "repair_tags",
    "require_passes",
    "sample_articles",
    "sample_chunks",
    "sample_path",
    "sample_texts",
    "save_npz",
    "sentence_spans",
    "snowball",
    "source_name",
    "spans_of",
    "split_documents",
    "split_sentences",
    "tags_of",
    "text_batches",
    "texts_of",
    "widened",
    "write_arpa",
    "write_bags",
    "write_choi",
    "write_columns",
    "write_dictionary",
    "write_knp",
    "write_terms",
    "writer",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "arpa": "Arpa ArpaOrder read_arpa write_arpa",
        "bagfiles": "BagFile bag_format read_bags",
        "bags": "array_like check_bags csr_arrays load_npz remap save_npz widened",
        "bagwriters": "convert_bags write_bags",
        "chains": "Chain is_one_shot rechunk require_passes",
        "choi": "parse_choi read_choi write_choi",
        "columns": "Sentence read_columns read_conllu write_columns",
        "counting": "Cutter TokenizerLike byte_count texts_of",
        "dictionaries": "read_dictionary read_terms write_dictionary write_terms",
        "features": "NamedFeatures",
        "formulas": "FormulaTokenizer canonical_formula is_formula",
        "function_words": "FUNCTION_WORDS",
        "hashing": "HashedBags",
        "iob": "RepairedTags SCHEMES Span check_tags convert_tags guess_scheme repair_tags spans_of tags_of",
        "knp": "BasicPhrase Bunsetsu KnpSentence Morpheme read_knp write_knp",
        "phrases": "ENGLISH_CONNECTORS Phrases",
        "readers": "Document Documents Opened Record SkippedRecords open_bytes open_lines open_source read_documents "
        "read_records writer",
        "sample": "sample_articles sample_chunks sample_path sample_texts",
        "sentences": "Sentences",
        "splitters": "split_documents",
        "streams": "BadRecords Source read_text source_name",
        "summary": "CorpusReport corpus_report",
        "synthetic": "DriftingStream TopicStream ZipfStream",
        "stop_words": "function_words_of",
        "tokenize": "CharacterNgrams PatternTokenizer Tokenizer normalizer sentence_spans snowball "
        "split_sentences text_batches",
        "tokens": "check_tagged read_tagged",
        "trees": "Tree parse_tree read_trees",
        "typed_segments": "TypedSegments",
        "variants": "VariantTokenizer",
        "vocabulary": "Bags Vocabulary",
        "writers": "binary_writer",
    },
)
