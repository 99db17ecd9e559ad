"""A discriminative language model with pseudo-negative samples; see README.md."""
