"""Parameters: hashable, equal to a copy, picklable with the types, and unchanged where no axis is renamed."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tangrad._conformance.comparison import Mismatch
from tangrad._conformance.samples import Sample
from tangrad.core import as_array, find_primitive, get_aval, rule_table
from tangrad.core.caches import params_key, value_key
from tangrad.core.tools import rule_kinds

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


def _again(value: Any) -> Any:
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
    if value_key(_again(params)) != value_key(params):
        raise Mismatch(f"the parameters {params} are {_again(params)} after pickling")


def check_axis_subst(sample: Sample) -> Cells:
    """Substituting each axis name for itself changes no parameter. Nothing where that rule kind is not installed."""
    if "axis_subst" in rule_kinds():
        yield "identity", partial(_check_axis_subst, sample)


def _check_axis_subst(sample: Sample) -> None:
    params = dict(sample.params)
    found = rule_table("axis_subst")[sample.primitive](params, lambda name: (name,))
    if value_key(found) != value_key(params):
        raise Mismatch(f"substituting each axis for itself makes {found} of {params}")
