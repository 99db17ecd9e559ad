"""Who called, and which number should be called back? Answers from the transcript of a voicemail message.

messages     marked messages, from and to files; names of callers
locale       words of a locale: numbers, greetings, first names
numbers      spoken numbers as digits, by a grammar of high recall
transducer   the same grammar for n-best lists and lattices
extractor    VoicemailExtractor: who called, and which number to call; callers and candidates are its trees
answers      what is found in a message; repeated numbers put together
reasons      the tests that led a tree to its answer
streams      partial transcripts and n-best lists
contacts     names and numbers looked up in a list of contacts
evaluation   precision and recall by three criteria, errors in context
"""

from typing import TYPE_CHECKING

from textmill.deferral import deferred

if TYPE_CHECKING:
    from textmill.tasks.voicemail.answers import CallbackNumber, FoundNumber, FoundSpan, VoicemailAnswer, merge_numbers
    from textmill.tasks.voicemail.candidates import FAMILIES
    from textmill.tasks.voicemail.contacts import Contact, ContactMatch, Contacts, read_contacts
    from textmill.tasks.voicemail.evaluation import (
        SpanError,
        SpanFigures,
        VoicemailEvaluation,
        evaluate_answers,
        evaluate_spans,
        plain_rules,
        span_errors,
    )
    from textmill.tasks.voicemail.extractor import TREES, VoicemailExtractor
    from textmill.tasks.voicemail.locale import LOCALES, Locale, read_locale
    from textmill.tasks.voicemail.messages import (
        LABELS,
        MarkedSpan,
        Message,
        caller_name,
        parse_message,
        read_messages,
        sample_messages,
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
    from textmill.tasks.voicemail.streams import NbestAnswer, PartialText, answer_nbest, partial_texts
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
    "FAMILIES",
    "LABELS",
    "LOCALES",
    "TREES",
    "CallbackNumber",
    "Contact",
    "ContactMatch",
    "Contacts",
    "FoundNumber",
    "FoundNumbers",
    "FoundSpan",
    "Locale",
    "MarkedSpan",
    "Message",
    "NbestAnswer",
    "NumberGrammar",
    "NumberPosterior",
    "PartialText",
    "SpanError",
    "SpanFigures",
    "SpokenNumber",
    "VoicemailAnswer",
    "VoicemailEvaluation",
    "VoicemailExtractor",
    "answer_nbest",
    "caller_name",
    "evaluate_answers",
    "evaluate_spans",
    "format_number",
    "hypothesis_weights",
    "lattice_hypotheses",
    "merge_numbers",
    "message_texts",
    "number_transducer",
    "numbers_in_lattice",
    "numbers_in_nbest",
    "parse_message",
    "partial_texts",
    "plain_rules",
    "quantity",
    "read_contacts",
    "read_locale",
    "read_messages",
    "sample_messages",
    "span_errors",
    "transduce",
    "write_messages",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "answers": "CallbackNumber FoundNumber FoundSpan VoicemailAnswer merge_numbers",
        "candidates": "FAMILIES",
        "contacts": "Contact ContactMatch Contacts read_contacts",
        "evaluation": "SpanError SpanFigures VoicemailEvaluation evaluate_answers evaluate_spans plain_rules "
        "span_errors",
        "extractor": "TREES VoicemailExtractor",
        "locale": "LOCALES Locale read_locale",
        "messages": "LABELS MarkedSpan Message caller_name parse_message read_messages sample_messages write_messages",
        "numbers": "FoundNumbers NumberGrammar SpokenNumber format_number message_texts quantity",
        "streams": "NbestAnswer PartialText answer_nbest partial_texts",
        "transducer": "NumberPosterior hypothesis_weights lattice_hypotheses number_transducer numbers_in_lattice "
        "numbers_in_nbest transduce",
    },
)
