"""Effects: those declared against those of staged programs, and whether they take place when a program runs.

What takes place is observed (`Sample.observe`), and held against the primitive applied directly, once for each set of
arguments. A rule may refuse an effectful primitive; then nothing must have taken place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import tangrad
from tangrad import use_backend
from tangrad._conformance.checks.execution import operands_of, staged
from tangrad._conformance.checks.mapping import variants
from tangrad._conformance.comparison import Mismatch
from tangrad._conformance.samples import Sample, reference_backend
from tangrad.core import Effect, decomposition_jaxpr, get_aval, keeps_alive

if TYPE_CHECKING:
    from tangrad.core import Array


Cells = Iterator[tuple[str, Callable[[], None]]]
Function = Callable[..., Any]

NO_OBSERVATION = (
    "the primitive has effects that take place when a program runs, and the sample does not say how they are observed: "
    "Sample(..., observe=function)"
)
REFUSALS = (ValueError, NotImplementedError)


def check_effects(sample: Sample) -> Cells:
    """The declared effects against those of a staged program; those that take place against what should."""
    yield "staged", partial(_check_declared, sample)
    # With names of mapped axes left there is nothing to decompose into.
    if sample.primitive.decompose is not None and not sample.axes and "decomposition" not in sample.without:
        yield "of the decomposition", partial(_check_decomposition, sample)
    if sample.observe is None:
        if keeps_alive(_declared(sample)):
            yield "observed", _no_observation
        return
    yield "while tracing", partial(_check_tracing, sample)
    for name in sample.tried_on():
        yield f"{name}, applied", partial(_check_applied, sample, name)
        yield f"{name}, compiled", partial(_check_compiled, sample, name)
        yield f"{name}, without results", partial(_check_unused, sample, name)
        yield f"{name}, in order", partial(_check_order, sample, name)
    yield "mapped", partial(_check_mapped, sample)
    yield "differentiated", partial(_check_differentiated, sample)


def _declared(sample: Sample) -> frozenset[Effect]:
    declare, avals = sample.primitive.effects, tuple([get_aval(value) for value in operands_of(sample)])
    return frozenset() if declare is None else frozenset(declare(avals, dict(sample.params)))


def _check_declared(sample: Sample) -> None:
    missing = _declared(sample) - frozenset(staged(sample, operands_of(sample)).effects)
    if missing:
        raise Mismatch(f"declared effects {sorted(map(str, missing))} are not those of the program")


def _check_decomposition(sample: Sample) -> None:
    """What is not declared would be dropped where the results are unused, or take place in another order."""
    avals = [get_aval(value) for value in operands_of(sample)]
    program = decomposition_jaxpr(sample.primitive, avals, dict(sample.params))
    undeclared = frozenset(program.effects) - _declared(sample)
    if undeclared:
        raise Mismatch(
            f"the decomposition has effects {sorted(map(str, undeclared))}, which the primitive does not declare"
        )


def _no_observation() -> None:
    raise Mismatch(NO_OBSERVATION)


# --- what takes place -----------------------------------------------------------------------------------------------


def _seen(sample: Sample, function: Function, *args: object) -> list[np.ndarray]:
    """What takes place while a function runs."""
    _observed(sample)
    function(*args)
    return _observed(sample)


def _observed(sample: Sample) -> list[np.ndarray]:
    tangrad.effects_barrier()
    return list(sample.observe()) if sample.observe is not None else []


def _once(sample: Sample, *args: object) -> list[np.ndarray]:
    """What takes place when the primitive is applied to arguments: what everything is held against."""
    with use_backend(reference_backend()):
        return _seen(sample, sample.apply, *args)


def _calls(sample: Sample) -> list[tuple[np.ndarray, ...]]:
    """Arguments of several applications, each like the sample's."""
    return list(zip(*[variants(arg) for arg in sample.args])) if sample.args else [(), ()]


def _compare(sample: Sample, found: Sequence[object], expected: Sequence[object], what: str) -> None:
    """Raise Mismatch unless the same has taken place; in the same order, if the effects have one."""
    if len(found) != len(expected):
        raise Mismatch(f"{what}: {len(found)} effects have taken place, expected {len(expected)}")
    rest = list(found)
    ordered = any([effect.ordered for effect in _declared(sample)])
    for position, event in enumerate(expected):
        place = next((i for i, other in enumerate(rest[: 1 if ordered else None]) if _same(event, other)), None)
        if place is None:
            order = ", in this order" if ordered else ""
            raise Mismatch(f"{what}: expected {event!r} as effect {position}{order}, found {rest!r}")
        del rest[place]


def _same(one: object, other: object) -> bool:
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all([_same(x, y) for x, y in zip(one, other)])
    one, other = np.asarray(one), np.asarray(other)
    return one.shape == other.shape and np.allclose(one, other, rtol=1e-5, atol=1e-6, equal_nan=True)


# --- the cells ------------------------------------------------------------------------------------------------------


def _check_tracing(sample: Sample) -> None:
    found = _seen(sample, lambda: staged(sample, operands_of(sample)))
    _compare(sample, found, [], "while the program is traced")


def _check_applied(sample: Sample, name: str) -> None:
    expected = _once(sample, *sample.args)
    if not expected:
        raise Mismatch("applied directly, nothing takes place")
    with use_backend(name):
        _compare(sample, _seen(sample, sample.apply, *sample.args), expected, "applied directly")


def _check_compiled(sample: Sample, name: str) -> None:
    expected, compiled = _once(sample, *sample.args), tangrad.jit(sample.apply)
    with use_backend(name):
        _compare(sample, _seen(sample, compiled, *sample.args), expected, "in the first run of a program")
        _compare(sample, _seen(sample, compiled, *sample.args), expected, "in the second run of a program")


def _check_unused(sample: Sample, name: str) -> None:
    def unused(*args: object) -> None:
        sample.apply(*args)

    expected, inner = _once(sample, *sample.args), tangrad.jit(unused)
    with use_backend(name):
        _compare(sample, _seen(sample, tangrad.jit(inner), *sample.args), expected, "where the results are unused")


def _check_order(sample: Sample, name: str) -> None:
    calls = _calls(sample)
    inner = tangrad.jit(sample.apply)

    def several(*many: Array) -> None:
        for position, args in enumerate(many):
            (inner if position % 2 else sample.apply)(*args)

    expected = [event for args in calls for event in _once(sample, *args)]
    with use_backend(name):
        _compare(sample, _seen(sample, tangrad.jit(several), *calls), expected, "applied several times in a program")
        apart = _seen(sample, lambda: [inner(*args) for args in calls])
        _compare(sample, apart, expected, "in several programs")


def _check_mapped(sample: Sample) -> None:
    if not sample.args:
        return
    calls, named = _calls(sample), len(sample.axes)
    mapped = [np.stack(rows, named) for rows in zip(*calls)]
    expected = [event for args in calls for event in _once(sample, *args)]
    with use_backend(reference_backend()):
        _check_or_refused(sample, sample.around(tangrad.vmap(sample.apply_one)), mapped, expected, "for each row")


def _check_differentiated(sample: Sample) -> None:
    tangents = [np.asarray(arg) for arg in sample.args]
    if not tangents or any([arg.dtype.kind not in "fc" for arg in tangents]):
        return
    expected = _once(sample, *sample.args)
    forward = lambda *args: tangrad.jvp(sample.apply, args, tuple(tangents))
    backward = lambda *args: tangrad.vjp(lambda *x: (sample.apply(*x), x), *args)[0]
    with use_backend(reference_backend()):
        _check_or_refused(sample, forward, sample.args, expected, "under jvp")
        _check_or_refused(sample, backward, sample.args, expected, "under vjp")


def _check_or_refused(
    sample: Sample, function: Function, args: Sequence[object], expected: Sequence[object], what: str
) -> None:
    """The function has the effects expected, or refuses and has none."""
    try:
        found = _seen(sample, function, *args)
    except REFUSALS:
        found, expected = _observed(sample), []
    _compare(sample, found, expected, what)
