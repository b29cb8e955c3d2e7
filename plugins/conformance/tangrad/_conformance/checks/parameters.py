"""Parameters: hashable, equal to a copy, picklable; with other names for the mapped axes, and unchanged without."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad import use_backend
from tangrad._conformance.comparison import Mismatch, as_numpy, check_same
from tangrad._conformance.samples import Sample, reference_backend
from tangrad.core import (
    Primitive,
    as_array,
    eval_jaxpr,
    find_primitive,
    get_aval,
    holding,
    rule_table,
    thread,
    trace_to_closed_jaxpr,
)
from tangrad.core.caches import params_key
from tangrad.core.tools import rule_kinds

if TYPE_CHECKING:
    from tangrad.typing import Params

Cells = Iterator[tuple[str, Callable[[], None]]]


def carries_program(sample: Sample) -> bool:
    """Whether a parameter is a program: it is its own identity, and goes into no pickle."""
    return any(
        [
            callable(item) or hasattr(item, "jaxpr") or hasattr(item, "eqns")
            for value in sample.params.values()
            for item in (value if isinstance(value, tuple) else (value,))
        ]
    )


def check_params(sample: Sample) -> Cells:
    """The parameters' hash and equality against those of a copy."""
    yield "hash and equality", partial(_check_params, sample)


def _check_params(sample: Sample) -> None:
    params = dict(sample.params)
    key = params_key(params)
    hash(key)
    other = dict(params) if carries_program(sample) else copy.deepcopy(params)
    again = params_key(other)
    if key != again or hash(key) != hash(again):
        raise Mismatch(f"the parameters {params} are not equal to a copy of them, or have another hash")


def check_pickle(sample: Sample) -> Cells:
    """The primitive, its types and parameters against what comes back from a pickle."""
    yield "primitive", partial(_check_primitive, sample)
    yield "types", partial(_check_types, sample)
    if not carries_program(sample):
        yield "parameters", partial(_check_pickled_params, sample)


def _again(value: object) -> Any:
    return pickle.loads(pickle.dumps(value))


def _check_primitive(sample: Sample) -> None:
    if find_primitive(sample.primitive.identity) is not sample.primitive:
        raise Mismatch(f"{sample.primitive.identity} names another primitive")
    if _again(sample.primitive) is not sample.primitive:
        raise Mismatch("the primitive is another one after pickling")


def _check_types(sample: Sample) -> None:
    for value in sample.operands(*sample.args):
        aval = get_aval(as_array(value))
        if _again(aval) != aval:
            raise Mismatch(f"{aval.str_short()} is {_again(aval)} after pickling")


def _check_pickled_params(sample: Sample) -> None:
    params = dict(sample.params)
    if params_key(_again(params)) != params_key(params):
        raise Mismatch(f"the parameters {params} are {_again(params)} after pickling")


def check_unchanged(sample: Sample) -> Cells:
    """Substituting each axis name for itself changes no parameter. Nothing where that rule kind is not installed."""
    if "axis_subst" in rule_kinds():
        yield "identity", partial(_check_axis_subst, sample)


def _check_axis_subst(sample: Sample) -> None:
    params = dict(sample.params)
    found = rule_table("axis_subst")[sample.primitive](params, lambda name: (name,))
    if params_key(found) != params_key(params):
        raise Mismatch(f"substituting each axis for itself makes {found} of {params}")


Axes = Mapping[Any, int]
Names = dict[Any, tuple[Any, ...]]


def check_axis_subst(sample: Sample) -> Cells:
    """Each name for itself changes nothing; other names, where axes have these, give the same results."""
    yield from check_unchanged(sample)
    if not sample.axes or "axis_subst" not in rule_kinds():
        return
    for subject, names, axes in _substitutions(sample.axes):
        yield subject, partial(_check_parameters, sample, names, axes)
        yield f"{subject}, in a program", partial(_check_program, sample, names, axes)


def _substitutions(axes: Axes) -> Iterator[tuple[str, Names, Axes]]:
    """What each name becomes, and the axes that there are then."""
    yield "renamed", {name: (f"new {name}",) for name in axes}, {f"new {name}": size for name, size in axes.items()}
    if len(axes) > 1:
        turned = [*list(axes)[1:], next(iter(axes))]
        yield (
            "names exchanged",
            {name: (new,) for name, new in zip(axes, turned)},
            dict(zip(turned, axes.values())),
        )
    for name, size in axes.items():
        factor = next((n for n in range(2, size) if size % n == 0), None)
        if factor is not None:
            outer, inner = f"outer {name}", f"inner {name}"
            parts = {outer: factor, inner: size // factor}
            split: dict[Any, int] = {}
            for other, other_size in axes.items():
                split |= parts if other == name else {other: other_size}
            yield f"{name!r} split", {name: (outer, inner)}, split


def _substituted(primitive: Primitive, params: Mapping[str, Any], names: Names, axes: Axes) -> Params:
    """The parameters with other names, as where the new axes are in scope: the sizes of parts are known there."""
    with holding(axis_environment=(*thread.axis_environment, *axes.items())):
        return dict(rule_table("axis_subst")[primitive](dict(params), lambda name: names.get(name, (name,))))


def _check_parameters(sample: Sample, names: Names, axes: Axes) -> None:
    renamed = replace(sample, params=_substituted(sample.primitive, sample.params, names, axes), axes=axes)
    _compare(sample, renamed, renamed.apply_one)


def _check_program(sample: Sample, names: Names, axes: Axes) -> None:
    """The sample inside a call of a jitted function: the rule of calls passes on what it gets."""
    avals = tuple([get_aval(arg) for arg in sample.example()])
    program = trace_to_closed_jaxpr(sample.apply_one, avals, sample.primitive.name)
    renamed = _substituted(find_primitive("jit.jit"), {"jaxpr": program, "name": "sample"}, names, axes)["jaxpr"]
    _compare(sample, replace(sample, axes=axes), lambda *args: tuple(eval_jaxpr(renamed.jaxpr, renamed.consts, *args)))


def _compare(sample: Sample, renamed: Sample, function: Callable[..., object]) -> None:
    """The results of `function` along the new axes against those of the sample along its own."""
    old, new = tuple(sample.axes.values()), tuple(renamed.axes.values())
    args = [np.reshape(arg, (*new, *np.shape(arg)[len(old) :])) for arg in sample.args]
    with use_backend(reference_backend()):
        found = as_numpy(renamed.around(function)(*args))
        expected = sample.apply(*sample.args)
    again = [np.reshape(one, (*old, *one.shape[len(new) :])) for one in found]
    check_same(again, expected, sample.tolerance, "with other names, with its own")
