"""Who called, and which number should be called back? Answers from the transcript of a voicemail message.

messages     marked messages, from and to files; names of callers
locale       words of a locale: numbers, greetings, first names
numbers      spoken numbers as digits, by a grammar of high recall
transducer   the same grammar for n-best lists and lattices
statistics   where spans begin and how long they are
generate     made-up messages with gold mark-up; productions and speaking are its parts
recognizer   a recogniser's errors on messages
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.tasks.voicemail.generate import VoicemailGenerator, spoken_sentences
    from textmill.tasks.voicemail.locale import LOCALES, Locale, read_locale
    from textmill.tasks.voicemail.messages import (
        LABELS,
        MarkedSpan,
        Message,
        caller_name,
        parse_message,
        read_messages,
        write_messages,
    )
    from textmill.tasks.voicemail.numbers import (
        FoundNumbers,
        NumberGrammar,
        SpokenNumber,
        format_number,
        message_texts,
        quantity,
    )
    from textmill.tasks.voicemail.recognizer import RecognizerChannel, sound_code
    from textmill.tasks.voicemail.statistics import (
        SpanDistribution,
        VoicemailStatistics,
        describe_messages,
        draw_distribution,
    )
    from textmill.tasks.voicemail.transducer import (
        NumberPosterior,
        hypothesis_weights,
        lattice_hypotheses,
        number_transducer,
        numbers_in_lattice,
        numbers_in_nbest,
        transduce,
    )

__all__ = [
    "LABELS",
    "LOCALES",
    "FoundNumbers",
    "Locale",
    "MarkedSpan",
    "Message",
    "NumberGrammar",
    "NumberPosterior",
    "RecognizerChannel",
    "SpanDistribution",
    "SpokenNumber",
    "VoicemailGenerator",
    "VoicemailStatistics",
    "caller_name",
    "describe_messages",
    "draw_distribution",
    "format_number",
    "hypothesis_weights",
    "lattice_hypotheses",
    "message_texts",
    "number_transducer",
    "numbers_in_lattice",
    "numbers_in_nbest",
    "parse_message",
    "quantity",
    "read_locale",
    "read_messages",
    "sound_code",
    "spoken_sentences",
    "transduce",
    "write_messages",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "generate": "VoicemailGenerator spoken_sentences",
        "locale": "LOCALES Locale read_locale",
        "messages": "LABELS MarkedSpan Message caller_name parse_message read_messages write_messages",
        "numbers": "FoundNumbers NumberGrammar SpokenNumber format_number message_texts quantity",
        "recognizer": "RecognizerChannel sound_code",
        "statistics": "SpanDistribution VoicemailStatistics describe_messages draw_distribution",
        "transducer": "NumberPosterior hypothesis_weights lattice_hypotheses number_transducer numbers_in_lattice "
        "numbers_in_nbest transduce",
    },
)
