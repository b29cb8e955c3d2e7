"""Ranges whose number of elements is a symbolic dimension: for each size what NumPy has."""

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import export, use_backend

RANGES = [
    ("arange({n})", int),
    ("arange(1, {n} + 1)", int),
    ("arange({n}, 0, -1)", int),
    ("arange(0, 2 * {n}, 2)", int),
    ("arange(0, {n}, 2)", int),
    ("arange(-{n}, {n})", int),
    ("arange({n}, 0, -2)", int),
    ("arange(3, {n})", int),
    ("arange(0, 10, {n})", int),
    ("linspace(0, 1, {n})", float),
    ("linspace(0, 1, {n} + 1)", float),
    ("linspace(0, 1, 2 * {n}, endpoint=False)", float),
    ("linspace(3, {n}, 5)", float),
    ("linspace(np.zeros(2), 1, {n}, axis=-1)", float),
    ("linspace(0, 10, {n}, dtype=int)", int),
    ("logspace(0, 1, {n})", float),
]


@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize(("call", "kind"), RANGES)
def test_ranges_of_symbolic_sizes(backend, call, kind):
    pytest.importorskip("jaxlib")  # exported programs are StableHLO
    (n,) = export.symbolic_shape("n")
    text = "np." + call
    with use_backend(backend):
        traced = tangrad.jit(lambda x: eval(text.format(n="n"), {"np": tnp, "n": x.shape[0]}))
        program = export.export(traced)(tangrad.ShapeDtypeStruct((n,), "float32"))
        for size in (1, 2, 3, 7):
            found = program.call(tnp.zeros(size))
            expected = eval(text.format(n=size), {"np": np})
            assert np.dtype(found.dtype).kind == np.dtype(kind).kind
            np.testing.assert_allclose(found, expected, rtol=1e-5, err_msg=str(size))


def test_what_has_no_known_number_is_refused():
    (n,) = export.symbolic_shape("n")
    with pytest.raises(ValueError, match="takes integers, got start=0, stop=n"):
        tnp.arange(0, n, 0.5)
    with pytest.raises(ValueError, match="step must not be 0"):
        tnp.arange(0, n, 0)
