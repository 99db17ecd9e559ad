"""Documents that are not coherent; see README.md."""
