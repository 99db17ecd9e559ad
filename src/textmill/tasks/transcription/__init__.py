"""Words in another notation: letters as sounds, names in another script, kanji from their readings.

transcriber   Transcriber: parts that are joined, a cache and a dictionary in front of them
searching     the choice of parts and their settings by development words
joining       weights of several models
parts         forms of inputs, notations of outputs, candidates of all parts
letters       LetterCRF: a conditional random field over letters
scripts       script packs: Hangul, Devanagari, Tamil, Kannada and katakana as sounds, and back
kanji         KanjiRestorer: kanji from romanized readings
evaluation    accuracy, F, MRR, MAP, word and symbol error
files         tab-separated files, XML of the shared tasks
sample        names for demonstrations
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.tasks.transcription.evaluation import TranscriptionScores, evaluate_transcriptions
    from textmill.tasks.transcription.files import read_transcriptions, write_corpus, write_results
    from textmill.tasks.transcription.joining import CandidateTable, join_weights
    from textmill.tasks.transcription.kanji import KanjiRestorer, romanize, syllabify
    from textmill.tasks.transcription.letters import LetterCRF
    from textmill.tasks.transcription.pictures import LetterTable, letter_table
    from textmill.tasks.transcription.sample import sample_kanji, sample_names
    from textmill.tasks.transcription.scripts import SCRIPTS, ScriptPack, detect_script, script_pack, split_hangul
    from textmill.tasks.transcription.searching import Choice, Pairs
    from textmill.tasks.transcription.transcriber import OverlappingSets, Transcriber, Transcription

__all__ = [
    "SCRIPTS",
    "CandidateTable",
    "Choice",
    "KanjiRestorer",
    "LetterCRF",
    "LetterTable",
    "OverlappingSets",
    "Pairs",
    "ScriptPack",
    "Transcriber",
    "Transcription",
    "TranscriptionScores",
    "detect_script",
    "evaluate_transcriptions",
    "join_weights",
    "letter_table",
    "read_transcriptions",
    "romanize",
    "sample_kanji",
    "sample_names",
    "script_pack",
    "split_hangul",
    "syllabify",
    "write_corpus",
    "write_results",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "evaluation": "TranscriptionScores evaluate_transcriptions",
        "files": "read_transcriptions write_corpus write_results",
        "joining": "CandidateTable join_weights",
        "kanji": "KanjiRestorer romanize syllabify",
        "letters": "LetterCRF",
        "pictures": "LetterTable letter_table",
        "sample": "sample_kanji sample_names",
        "scripts": "SCRIPTS ScriptPack detect_script script_pack split_hangul",
        "searching": "Choice Pairs",
        "transcriber": "OverlappingSets Transcriber Transcription",
    },
)
