"""Languages of texts; see README.md."""
