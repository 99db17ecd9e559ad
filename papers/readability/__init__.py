"""Reading levels of texts; see README.md."""
