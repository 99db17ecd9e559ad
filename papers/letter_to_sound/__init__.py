"""Letters to sounds by alignment and decision trees; see README.md."""
