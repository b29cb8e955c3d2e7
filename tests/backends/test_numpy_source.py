"""Generated source: what comes from elsewhere cannot change it."""

import pytest

import tangrad
import tangrad.numpy as np
from tangrad._backend_numpy.kernels import composed
from tangrad.core import PrimitiveSet, RuleSet, ShapedArray, register


@pytest.mark.parametrize("name", ["x²", "ﬁ", "größe", "lambda", "a b\n'c", "1", "", "数"])
def test_functions_of_any_name_become_source(name: str) -> None:
    def f(x):
        return tangrad.pure_callback(g, x, x * 2.0)

    def g(x):
        return x + 1

    f.__name__ = g.__name__ = name
    with tangrad.use_backend("numpy"):
        compiled = tangrad.jit(f).lower(1.0).compile()
        assert float(compiled(1.0)) == 3.0
        assert compiled.as_text().isascii()


def test_a_name_with_a_line_break_runs_no_code() -> None:
    family = PrimitiveSet("injected_family", api=1)
    renamed = family.primitive(lambda x: ShapedArray(x.shape, x.dtype), name="innocent", decompose=lambda x: x * 2.0)
    renamed.name = "x\n    raise SystemExit('injected')\n#"  # past the check of the constructor
    lower = RuleSet("lower.numpy", api=1)
    composed(lower, renamed)(lambda ctx, x: ctx.multiply(x, x))
    with tangrad.use_backend("numpy"), register(lower):
        assert float(tangrad.jit(lambda x: renamed(x) + 1.0)(3.0)) == 10.0


@pytest.mark.parametrize("shape", [(2, 0), (0, 2)])
def test_views_of_nothing_are_not_written_to(shape: tuple[int, int]) -> None:
    with tangrad.use_backend("numpy"):
        result = tangrad.jit(lambda x: np.broadcast_to(np.sin(x), shape)[:1] * 2)(np.zeros(shape[1:]))
    assert result.shape == (min(1, shape[0]), shape[1])
