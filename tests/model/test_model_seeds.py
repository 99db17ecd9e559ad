"""Seeds from whatever names them."""

import numpy as np
import pytest

from textmill.errors import DataError
from textmill.model import seed_of


def test_numbers_name_themselves_and_nothing_names_what_stands_for_it():
    assert seed_of(7) == 7
    assert seed_of(7, 3) == 7
    assert seed_of(None, 3) == 3
    assert seed_of(np.int64(5), 3) == 5


def test_without_a_seed_one_is_drawn():
    assert len({seed_of(None) for _ in range(5)}) == 5


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_generators_give_the_seeds_of_their_stream(make):
    first, second = make(4), make(4)
    seeds = [seed_of(first) for _ in range(3)]
    assert seeds == [seed_of(second) for _ in range(3)]
    assert len(set(seeds)) == 3
    assert all(0 <= seed < 2**63 for seed in seeds)


@pytest.mark.parametrize("wrong", [-1, 0.5, True, "seven"])
def test_what_is_no_seed_is_refused(wrong):
    with pytest.raises(DataError, match="random_state must be"):
        seed_of(wrong)
