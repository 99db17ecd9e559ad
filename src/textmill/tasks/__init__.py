"""Jobs, one module each, built from the models below.

coherence    coherent documents told from blended, shuffled and generated ones
correction   misspelled words, by a lexicon and a language model
dependency   heads of the bunsetsus of Japanese sentences, by a parser that can be read
entities     names of people, places and organizations: where they are, then what they are
fluency      is this sentence all right: a judge learned from raw text
language     which languages a text is in, and where they change
names        match lists of names: find pairs, group them, evaluate measures, prepare labels
normalization   numbers, dates, money and abbreviations as words, and back
polarity     how many stars a review gives: scores on a scale, and the phrases that move them
segmentation where the topic of a text changes, and chunks for retrieval
pronunciation   how words sound: models from word lists
readability  how hard a text is: formulas, features, graders trained on texts with levels
similarity   documents like a text or like another document, in an index or a collection of many
transfer     a treebank for a related language, from a treebank and raw text
transcription   letters as sounds, names in another script, kanji from their readings
voicemail    who called, and which number to call back
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.tasks.coherence import CoherenceDetector, Forger
    from textmill.tasks.correction import Correction, SpellingCorrector
    from textmill.tasks.dependency import DependencyParser
    from textmill.tasks.entities import EntityRecognizer
    from textmill.tasks.fluency import FluencyModel
    from textmill.tasks.language import LanguageCounts, LanguageIdentifier, LanguageSegmenter
    from textmill.tasks.normalization import Normalizer
    from textmill.tasks.polarity import PolarityScorer, ReviewFeatures
    from textmill.tasks.pronunciation import PronunciationModel
    from textmill.tasks.readability import LanguageResources, LevelLearner, LevelModels, ReadabilityGrader
    from textmill.tasks.segmentation import Chunker, TopicSegmenter
    from textmill.tasks.similarity import Collection, Matches, SimilarDocuments, query_shards
    from textmill.tasks.transcription import KanjiRestorer, LetterCRF, Transcriber
    from textmill.tasks.transfer import TreebankTransfer
    from textmill.tasks.voicemail import VoicemailExtractor

__all__ = [
    "Chunker",
    "CoherenceDetector",
    "Collection",
    "Correction",
    "DependencyParser",
    "EntityRecognizer",
    "FluencyModel",
    "Forger",
    "KanjiRestorer",
    "LanguageCounts",
    "LanguageIdentifier",
    "LanguageResources",
    "LanguageSegmenter",
    "LetterCRF",
    "LevelLearner",
    "LevelModels",
    "Matches",
    "Normalizer",
    "PolarityScorer",
    "PronunciationModel",
    "ReadabilityGrader",
    "ReviewFeatures",
    "SimilarDocuments",
    "SpellingCorrector",
    "TopicSegmenter",
    "Transcriber",
    "TreebankTransfer",
    "VoicemailExtractor",
    "query_shards",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "coherence": "CoherenceDetector Forger",
        "correction": "Correction SpellingCorrector",
        "dependency": "DependencyParser",
        "entities": "EntityRecognizer",
        "fluency": "FluencyModel",
        "language": "LanguageCounts LanguageIdentifier LanguageSegmenter",
        "normalization": "Normalizer",
        "polarity": "PolarityScorer ReviewFeatures",
        "segmentation": "Chunker TopicSegmenter",
        "pronunciation": "PronunciationModel",
        "readability": "LanguageResources LevelLearner LevelModels ReadabilityGrader",
        "similarity": "Collection Matches SimilarDocuments query_shards",
        "transcription": "KanjiRestorer LetterCRF Transcriber",
        "transfer": "TreebankTransfer",
        "voicemail": "VoicemailExtractor",
    },
)
