"""Every program of the corpus, on both backends, eagerly and jitted, in every mode that applies, against JAX."""

import pytest

from tests.differential.runner import differences

from .corpus import all_programs

CASES = [
    pytest.param(program, mode, jitted, id=f"{program.name}-{mode.replace(' ', '-')}-{'jit' if jitted else 'eager'}")
    for program in all_programs()
    for mode in program.modes()
    for jitted in ((False, True) if program.jit else (False,))
]


@pytest.mark.parametrize("program, mode, jitted", CASES)
def test_agrees_with_jax(program, mode, jitted, subject, reference):
    expected = reference.results(program, mode)
    found = differences(program, subject.run(program, mode, jitted), expected)
    assert not found, "\n".join(found)
