"""Benchmarks: ours and the peers in one run, as ratios, with quality beside speed. `python -m bench SUBJECT`."""
