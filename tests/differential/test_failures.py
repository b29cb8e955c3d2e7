"""Programs that must raise: the kind of error is JAX's, the message says what and where, and the next call works."""

import pytest

from .failing import all_failures, error_of, kind_of, text_of


def test_number_of_failures():
    failures = all_failures()
    assert len(failures) >= 100
    assert sum(failure.jax == "same" for failure in failures) >= 85


@pytest.mark.parametrize("failure", all_failures(), ids=lambda failure: failure.name)
def test_fails_as_in_jax(failure, reference, api):
    theirs, ours = error_of(reference.api, failure), error_of(api, failure)
    assert ours is not None, f"no error; JAX: {theirs!r}"
    kind = None if theirs is None else kind_of(theirs)
    expected = kind_of(ours) if failure.jax == "same" else failure.jax
    assert kind in (expected if isinstance(expected, tuple) else (expected,)), (
        f"{kind_of(ours)}: {ours}\nJAX: {theirs!r}"
    )
    missing = [word for word in failure.words if word not in text_of(ours)]
    assert not missing, f"{missing} not in: {text_of(ours)}"
    assert float(api.jit(api.grad(lambda x: api.lax.fori_loop(0, 2, lambda i, v: v * x, x)))(2.0)) == 12.0
