"""Names in another script, letters as sounds."""
from textmill.tasks.transcription.letters import LetterCRF
__all__=["LetterCRF"]
