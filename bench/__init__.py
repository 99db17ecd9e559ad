"""Benchmarks: one module a subject, ours and the peers in one run. `python -m bench SUBJECT`."""
