"""Other dtypes than the sample's: what the abstract evaluation accepts has to run, and give what it promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import tangrad
from tangrad import use_backend
from tangrad._conformance.blame import measured_with
from tangrad._conformance.checks.parameters import carries_program
from tangrad._conformance.comparison import Mismatch, as_numpy
from tangrad._conformance.point import is_differentiated
from tangrad._conformance.samples import Sample, reference_backend
from tangrad.core import dtypes, get_aval

Cells = Iterator[tuple[str, Callable[[], None]]]

TRIED = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int8", "uint32", "int64", "bool")


def check_dtypes(sample: Sample) -> Cells:
    """The sample's floating-point operands in each dtype that the abstract evaluation accepts; also their derivatives.

    A primitive that should refuse a dtype, and does not, is found by a lowering that cannot do without refusing, or
    that gives another dtype than was inferred.
    """
    if carries_program(sample) or sample.axes or sample.leave.__name__ != "_unchanged":
        return  # a program is of the dtypes that it was traced with
    floating = [i for i, arg in enumerate(sample.args) if dtypes.issubdtype(np.asarray(arg).dtype, np.inexact)]
    own = {np.asarray(sample.args[i]).dtype.name for i in floating}
    for name in TRIED if floating else ():
        other = _in_dtype(sample, floating, name) if {name} != own else None
        if other is not None:
            yield name, partial(_measured, other, partial(_check_types, other))
            # Where the sample is real, the primitive may know no derivative of complex numbers.
            alike = bool(own & {"complex64", "complex128"}) or not name.startswith("complex")
            if alike and (is_differentiated(other, 1) or (other.derivatives and name in ("float16", "bfloat16"))):
                yield f"{name}, derivative", partial(_measured, other, partial(_check_derivative, other, floating))


def _measured(sample: Sample, thunk: Callable[[], None]) -> None:
    with measured_with(sample):
        thunk()


def _in_dtype(sample: Sample, positions: list[int], name: str) -> Sample | None:
    """The sample in another dtype, or None where its abstract evaluation refuses that."""
    kind = dtypes.as_dtype(name)
    args = tuple([_converted(arg, kind) if i in positions else np.asarray(arg) for i, arg in enumerate(sample.args)])
    other = replace(sample, args=args)
    try:
        other.inferred()
    except (TypeError, ValueError, NotImplementedError):
        return None
    return other


def _converted(arg: Any, kind: Any) -> Any:
    array = np.asarray(arg)
    if array.dtype.kind == "c" and not dtypes.issubdtype(kind, np.complexfloating):
        array = array.real
    if dtypes.issubdtype(kind, np.unsignedinteger):
        array = np.abs(array.astype(np.float64))
    return array.astype(kind)


def _check_types(sample: Sample) -> None:
    promised = sample.inferred()
    with use_backend(reference_backend()):
        for position, (x, aval) in enumerate(zip(as_numpy(sample.apply(*sample.args)), promised, strict=True)):
            if x.shape != aval.shape or x.dtype != aval.dtype:
                what = f"{x.dtype.name}{list(x.shape)}"
                raise Mismatch(f"result {position}: inferred {aval.str_short()}, executed {what}")


def _check_derivative(sample: Sample, positions: list[int]) -> None:
    """Tangents and cotangents have the dtypes of what they belong to."""

    def function(*values: Any) -> Any:
        filled = list(sample.args)
        for position, value in zip(positions, values):
            filled[position] = value
        return [one for one in sample.apply(*filled) if dtypes.issubdtype(get_aval(one).dtype, np.inexact)]

    primals = tuple([sample.args[position] for position in positions])
    with use_backend(reference_backend()):
        if "jvp" not in sample.without:
            results, tangents = tangrad.jvp(function, primals, primals)
            _check_kinds("tangent", tangents, results)
        if "transpose" not in sample.without:
            results, pull = tangrad.vjp(function, *primals)
            _check_kinds("cotangent", pull(results), primals)


def _check_kinds(what: str, found: Any, expected: Any) -> None:
    for position, (x, y) in enumerate(zip(found, expected, strict=True)):
        one, other = get_aval(x), get_aval(y)
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            raise Mismatch(f"{what} {position} is {one.str_short()}, what it belongs to {other.str_short()}")
