"""Names in another script; see README.md."""
