"""Raw strings to counts with a vocabulary: textmill, gensim and scikit-learn on 20 Newsgroups.

All three get the same tokens: gensim and scikit-learn through a regular expression that says what UAX #29 says of the
characters in this corpus, and the counts are compared cell by cell before anything is timed.

    TEXTMILL_DATA=... python -m bench vectorise
"""
