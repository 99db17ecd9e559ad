"""The tables of the papers, made again: one folder a paper, outside of the wheel.

    python -m papers                    what there is
    python -m papers polarity           the tables of one paper, ours beside the published figures
    python -m papers --all --quick      every paper on made-up data in seconds, to see that it runs

A folder holds README.md (the paper, its tables, what came of them), recipes.py (`RECIPES`, one record a table) and what
only these tables need: protocols, baselines, generators. Models and figures come from `textmill`; names without a
leading underscore of its modules may be used here.
"""
