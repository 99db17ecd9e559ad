"""Polarity scores of reviews; see README.md."""
