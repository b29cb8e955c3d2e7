"""The kit's check of rules of kind `taylor`: against derivatives of derivatives, by `jvp` alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy

import tangrad
from tangrad.conformance import Sample
from tangrad.core import rule_table
from tangrad_taylor.transformation import jet

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from tangrad.core import Array
    from tangrad.typing import ArrayLike, Value

    Number: TypeAlias = Array | numpy.float64
    Curve: TypeAlias = Callable[[Number], Sequence[Value]]

ORDER = 3
TOLERANCE = 1e-7
DOUBLE = {"float32": "float64", "complex64": "complex128"}


def check_taylor(sample: Sample) -> Iterator[tuple[str, Callable[[], None]]]:
    """The derivatives of what the primitive gives along a curve, up to order 3, or of those in the sample."""
    args = [_double(arg) for arg in sample.args]
    active = [place for place, arg in enumerate(args) if arg.dtype.kind in "fc"]
    order = ORDER if sample.derivatives >= 2 else sample.derivatives
    if not order or not active or "jvp" in sample.without:
        return
    if any([arg.dtype.kind not in "biu" and arg.dtype.name not in DOUBLE.values() for arg in args]):
        return  # in half precision differences say nothing
    if rule_table("jvp").cell(sample.primitive).status == "not applicable":
        return

    def compare() -> None:
        with tangrad.enable_x64(True):
            found, expected = sample.around(both)(*args, *curve)
        for k, pair in enumerate(zip(found, expected, strict=True), 1):
            for x, y in zip(*pair, strict=True):
                scale = max(1.0, float(numpy.abs(numpy.asarray(y)).max(initial=0.0)))
                numpy.testing.assert_allclose(x, y, rtol=TOLERANCE, atol=TOLERANCE * scale, err_msg=f"order {k}")

    generator = numpy.random.default_rng(3)
    curve = [_draw(generator, args[place]) for place in active for _ in range(order)]

    def both(*flat: Array) -> tuple[list[list[Value]], list[Sequence[Value]]]:
        """What `jet` gives and what nested `jvp` does, of one example."""
        operands, rest = list(flat[: len(args)]), iter(flat[len(args) :])
        primals = [operands[place] for place in active]
        series = [[next(rest) for _ in range(order)] for _ in active]

        def inexact(*values: Array) -> list[Value]:
            chosen = dict(zip(active, values, strict=True))
            given = [chosen.get(place, operand) for place, operand in enumerate(operands)]
            return [one for one in sample.apply_one(*given) if one.dtype.kind in "fc"]

        def along(t: Number) -> list[Value]:
            powers = [(t ** (k + 1)) * factor for k, factor in enumerate((1.0, 0.5, 1 / 6)[:order])]
            return inexact(*[_moved(x, terms, powers) for x, terms in zip(primals, series, strict=True)])

        _, outs = jet(inexact, primals, series)
        nested: list[Sequence[Value]] = []
        function: Curve = along
        for _ in range(order):
            function = _derivative(function)
            nested.append(function(numpy.float64(0.0)))
        return [[one[k] for one in outs] for k in range(order)], nested

    yield f"order {order}", compare


def _derivative(function: Curve) -> Curve:
    return lambda t: tangrad.jvp(function, (t,), (numpy.float64(1.0),))[1]


def _moved(x: Array, terms: Sequence[Array], powers: Sequence[Number]) -> Array:
    return x + sum([term * power.astype(x.dtype) for term, power in zip(terms, powers)])


def _double(arg: ArrayLike) -> numpy.ndarray:
    array = numpy.asarray(arg)
    return array.astype(DOUBLE.get(array.dtype.name, array.dtype))


def _draw(generator: numpy.random.Generator, like: numpy.ndarray) -> numpy.ndarray:
    real = generator.normal(size=like.shape)
    return numpy.asarray(real if like.dtype.kind == "f" else real + 1j * generator.normal(size=like.shape), like.dtype)
