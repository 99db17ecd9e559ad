"""Labels of greatest expected utility; see README.md."""
