"""Callers and phone numbers in voicemail; see README.md."""
