"""Okanohara, Miyao, Tsuruoka & Tsujii (2006): semi-Markov CRFs for named entities."""
