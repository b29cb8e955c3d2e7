"""Derivatives and maps as users run them: in the sample's own dtypes, through `grad`, compiled, mapped, and both.

A rule that decides by a value, `if x > 0`, works where values are at hand, and nowhere here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import tangrad
from tangrad import use_backend
from tangrad._conformance.checks.mapping import variants
from tangrad._conformance.comparison import Mismatch, as_numpy, check_same
from tangrad._conformance.point import is_differentiated
from tangrad._conformance.samples import Sample, reference_backend
from tangrad.core import dtypes, find_primitive, get_aval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tangrad.core import Array
    from tangrad.typing import DType

Cells = Iterator[tuple[str, Callable[[], None]]]
Function = Callable[..., "tuple[Array, ...]"]

TOLERANCES = {
    "float16": 2e-2,
    "bfloat16": 1e-1,
    "float32": 1e-3,
    "complex64": 1e-3,
    "float64": 1e-8,
    "complex128": 1e-8,
}


def check_usage(sample: Sample) -> Cells:
    """`grad`, `jit(grad)`, `vmap(grad)` and `jit(vmap)` against each other and against loops."""
    gradient = _Gradient(sample) if "transpose" not in sample.without and _has_gradient(sample) else None
    if gradient is not None:
        yield "grad", partial(_check_grad, gradient)
        yield "jit(grad)", partial(_check_jit_grad, gradient)
        yield "vmap(grad)", partial(_check_vmap_grad, gradient)
    if sample.args and "batch" not in sample.without:
        for name in sample.tried_on():
            yield f"jit(vmap) on {name}", partial(_check_jit_vmap, sample, name)


def _has_gradient(sample: Sample) -> bool:
    return is_differentiated(sample, 1) or (
        sample.derivatives > 0 and any([_is_inexact(np.asarray(arg).dtype) for arg in sample.args])
    )


def _is_inexact(dtype: DType) -> bool:
    return bool(dtypes.issubdtype(dtype, np.inexact))


def _is_real(dtype: DType) -> bool:
    return bool(dtypes.issubdtype(dtype, np.floating))


class _Gradient:
    """The gradient of the sum of a sample's inexact results by its inexact arguments."""

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self.active = [i for i, arg in enumerate(sample.args) if _is_inexact(np.asarray(arg).dtype)]
        self.add, self.sum = find_primitive("autodiff.add_any"), find_primitive("autodiff.sum_trailing")
        with use_backend(reference_backend()):
            self.results = as_numpy(sample.apply(*sample.args))
        self.kept = [i for i, result in enumerate(self.results) if _is_inexact(result.dtype)]

    def total(self, *args: object) -> tuple[Array, ...]:
        """The scalars that users would differentiate: one for each dtype among the results."""
        results = self.sample.apply_one(*args)
        sums: dict[Any, Array] = {}
        for position in self.kept:
            one = self.sum.bind(results[position], count=np.ndim(results[position]))
            kind = get_aval(one).update(weak_type=False)
            sums[kind] = self.add.bind(sums[kind], one) if kind in sums else one
        return tuple(sums.values())

    def __call__(self, *args: Array) -> tuple[Array, ...]:
        """The value, and its gradient: of one example."""
        real = [_is_real(np.asarray(arg).dtype) for arg in self.sample.args]
        kinds = {self.results[position].dtype for position in self.kept}
        if all([real[i] for i in self.active]) and len(kinds) == 1 and _is_real(next(iter(kinds))):
            value, gradient = tangrad.value_and_grad(lambda *args: self.total(*args)[0], tuple(self.active))(*args)
            return (value, *gradient)
        # Of complex numbers, or with results of several dtypes: what is behind `grad`.
        values, pull = tangrad.vjp(self._of_active(args), *[args[i] for i in self.active])
        return (*values, *pull(tuple([_one(value) for value in values])))

    def _of_active(self, args: Sequence[object]) -> Function:
        def function(*values: object) -> tuple[Array, ...]:
            filled: list[object] = list(args)
            for position, value in zip(self.active, values):
                filled[position] = value
            return self.total(*filled)

        return function

    def eager(self) -> list[np.ndarray]:
        """As users call it first."""
        with use_backend(reference_backend()):
            return as_numpy(self.sample.around(self)(*self.sample.args))

    def compare(self, found: Sequence[object], expected: Sequence[object], names: str) -> None:
        """Raise Mismatch unless they are the same, for numbers that were rounded in another order."""
        kinds = [np.asarray(value).dtype.name for value in expected]
        tolerance = max([TOLERANCES.get(kind, 0.0) for kind in kinds], default=0.0)
        check_same(found, expected, max(tolerance, self.sample.tolerance or 0.0), names)


def _one(value: object) -> Any:
    return np.ones((), get_aval(value).dtype)


def _check_grad(gradient: _Gradient) -> None:
    """The gradient has the types of the arguments, its value that of the results."""
    found, named = gradient.eager(), len(gradient.sample.axes)
    args = [np.asarray(gradient.sample.args[i]) for i in gradient.active]
    for position, (one, arg) in enumerate(zip(found[len(found) - len(args) :], args, strict=True)):
        if one.shape != arg.shape or one.dtype != arg.dtype:
            wrong = f"{one.dtype.name}{list(one.shape)}, the argument {arg.dtype.name}{list(arg.shape)}"
            raise Mismatch(f"the gradient by argument {gradient.active[position]} is {wrong}")
    sums: dict[np.dtype, Any] = {}
    for result in [gradient.results[i] for i in gradient.kept]:
        wide = result.astype(np.complex128 if result.dtype.kind == "c" else np.float64)
        one = wide.sum(tuple(range(named, result.ndim)))
        sums[result.dtype] = sums.get(result.dtype, 0) + one
    expected = [np.asarray(total, kind) for kind, total in sums.items()]
    gradient.compare(found[: len(expected)], expected, "the value beside the gradient, that of the results")


def _check_jit_grad(gradient: _Gradient) -> None:
    with use_backend(reference_backend()):
        found = gradient.sample.around(tangrad.jit(gradient))(*gradient.sample.args)
        gradient.compare(found, gradient.eager(), "jit(grad), grad")


def _check_vmap_grad(gradient: _Gradient) -> None:
    sample, named = gradient.sample, len(gradient.sample.axes)
    rows = [variants(arg)[:2] for arg in sample.args]
    with use_backend(reference_backend()):
        found = sample.around(tangrad.vmap(gradient))(*[np.stack(row, named) for row in rows])
        loop = [as_numpy(sample.around(gradient)(*[row[i] for row in rows])) for i in range(2)]
    gradient.compare(found, [np.stack(parts, named) for parts in zip(*loop)], "vmap(grad), a loop of grad")


def _check_jit_vmap(sample: Sample, name: str) -> None:
    named = len(sample.axes)
    rows = [variants(arg) for arg in sample.args]
    with use_backend(name):
        function = sample.around(tangrad.jit(tangrad.vmap(sample.apply_one)))
        found = function(*[np.stack(row, named) for row in rows])
        loop = [as_numpy(sample.apply(*[row[i] for row in rows])) for i in range(len(rows[0]))]
    check_same(found, [np.stack(parts, named) for parts in zip(*loop)], sample.tolerance, "jit(vmap), loop")
