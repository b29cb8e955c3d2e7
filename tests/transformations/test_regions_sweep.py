"""Random programs of repeated parts, 2,000 of them: with regions everywhere they compute what they compute without."""

import random

import pytest

import tangrad
from tangrad.core import backend_names
from tests.transformations.test_regions import STEPS, check_program

PARTS, PROGRAMS = 50, 40


def drawn(seed):
    """A description, as those that Hypothesis draws for the small sample of this."""
    numbers = random.Random(seed)
    return (
        [numbers.choice(sorted(STEPS)) for _ in range(numbers.randint(1, 3))],
        numbers.randint(2, 5),
        numbers.choice(["nothing", "index", "skip", "step"]),
        numbers.choice(["plain", "jit", "checkpoint", "checkpoint of jit"]),
        numbers.choice(["value", "grad", "vmap", "vmap of grad"]),
    )


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("backend", backend_names())
def test_programs_of_repeated_parts_compute_the_same(backend, part):
    with tangrad.use_backend(backend):
        for number in range(PROGRAMS):
            seed = part * PROGRAMS + number
            try:
                check_program(drawn(seed))
            except Exception as error:
                error.add_note(f"program {seed}: {drawn(seed)}")
                raise
