"""Running the primitive: inferred types, compilation, backends, decompositions, dead code, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import combinations
from typing import TYPE_CHECKING

import tangrad
from tangrad import use_backend
from tangrad._conformance.checks.parameters import carries_program
from tangrad._conformance.comparison import Mismatch, as_numpy, check_same
from tangrad._conformance.samples import Sample, reference_backend
from tangrad.core import ClosedJaxpr, as_array, dce_jaxpr, dtypes, eval_jaxpr, get_aval, trace_to_closed_jaxpr
from tangrad.core.tools import check_jaxpr

if TYPE_CHECKING:
    import numpy as np

    from tangrad.core import Array, ShapedArray
    from tangrad.typing import Value

Cells = Iterator[tuple[str, Callable[[], None]]]


def run(sample: Sample, name: str) -> list[np.ndarray]:
    """The sample's results on a backend, as NumPy arrays."""
    with use_backend(name):
        return as_numpy(sample.apply(*sample.args))


def operands_of(sample: Sample) -> tuple[Array, ...]:
    """The operands, of one example where the sample has axes."""
    args = sample.example() if sample.axes else sample.args
    return tuple([as_array(value) for value in sample.operands(*args)])


@lru_cache(maxsize=2)  # samples come by one after the other, and several checks run the same program
def compiled(sample: Sample) -> Callable[..., tuple[Array, ...]]:
    """The sample's primitive as a compiled program, on whichever backend is chosen."""
    return tangrad.jit(sample.apply)


@lru_cache(maxsize=2)
def decomposed(sample: Sample) -> Callable[..., tuple[Value, ...]] | None:
    """The decomposition as a compiled program of the sample's arguments; None where there is none to run."""
    decompose = sample.primitive.decompose
    if decompose is None or sample.axes:  # with names left there is nothing to run
        return None
    run = tangrad.jit(lambda *args: decompose(*args, **sample.params))
    return lambda *args: sample.results(run(*[as_array(value) for value in sample.operands(*args)]))


def check_abstract(sample: Sample) -> Cells:
    """Inferred shape, dtype and weak type, against results and staged programs."""
    for name in sample.tried_on():
        yield name, partial(_check_abstract, sample, name)
    yield "staged", partial(_check_staged, sample)


def _inferred(sample: Sample, operands: tuple[object, ...]) -> tuple[ShapedArray, ...]:
    out = sample.primitive.infer(tuple([get_aval(value) for value in operands]), dict(sample.params))
    return tuple(out) if sample.primitive.multiple_results else (out,)


def _check_abstract(sample: Sample, name: str) -> None:
    with use_backend(name):
        expected = _inferred(sample, operands_of(sample))
        results, mapped = _executed(sample), tuple(sample.axes.values())
        avals = [get_aval(one) for one in results]
        _check_avals([aval.update(shape=aval.shape[len(mapped) :]) for aval in avals], expected, "executed")
        arrays = [
            (one, aval) for one, aval in zip(results, expected) if not isinstance(aval.dtype, dtypes.ExtendedDType)
        ]
        for array, aval in arrays:
            held = array.to_numpy() if hasattr(array, "to_numpy") else array
            if held.shape != (*mapped, *aval.shape) or held.dtype != aval.dtype:
                raise Mismatch(f"inferred {aval.str_short()}, the array holds {held.dtype.name}{list(held.shape)}")


def _executed(sample: Sample) -> tuple[Array, ...]:
    """What the primitive itself returns, with the sample's axes in front."""

    def applied(*args: object) -> tuple[Array, ...]:
        result = sample.primitive.bind(*[as_array(value) for value in sample.operands(*args)], **sample.params)
        return tuple(result) if sample.primitive.multiple_results else (result,)

    return sample.around(applied)(*sample.args)


def _check_staged(sample: Sample) -> None:
    operands = operands_of(sample)
    expected = _inferred(sample, operands)
    _check_avals(list(staged(sample, operands).out_avals), expected, "staged")


def _check_avals(found: list[ShapedArray], expected: tuple[ShapedArray, ...], how: str) -> None:
    if len(found) != len(expected):
        raise Mismatch(f"{len(expected)} results are inferred, {len(found)} {how}")
    for position, (x, y) in enumerate(zip(found, expected)):
        if x != y and x != y.update(named_shape=()):  # once it is mapped, no type has an axis
            raise Mismatch(
                f"result {position}: inferred {y.str_short()} (weak: {y.weak_type}), "
                f"{how} {x.str_short()} (weak: {x.weak_type})"
            )


def staged(sample: Sample, operands: tuple[object, ...]) -> ClosedJaxpr:
    """A program that applies the sample's primitive."""

    def applied(*args: object) -> tuple[Array, ...]:
        result = sample.primitive.bind(*args, **sample.params)
        return tuple(result) if sample.primitive.multiple_results else (result,)

    return trace_to_closed_jaxpr(applied, tuple([get_aval(value) for value in operands]))


def check_jit(sample: Sample) -> Cells:
    """The compiled program against the primitive applied directly."""
    for name in sample.tried_on():
        yield name, partial(_check_jit, sample, name, compiled(sample))
        if sample.axes:
            inside = sample.around(tangrad.jit(sample.apply_one))
            yield f"{name}, inside the axes", partial(_check_jit, sample, name, inside)


def _check_jit(sample: Sample, name: str, jitted: Callable[..., tuple[Value, ...]]) -> None:
    with use_backend(name):
        check_same(jitted(*sample.args), sample.apply(*sample.args), sample.tolerance, "jitted, eager")


def check_backends(sample: Sample) -> Cells:
    """Every installed backend against every other; one that is tried alone against the reference backend."""
    names = sample.tried_on()
    others = [(name, reference_backend()) for name in names if len(names) == 1 and name != reference_backend()]
    for first, second in [*combinations(names, 2), *others]:
        yield f"{first} and {second}", partial(_check_backends, sample, first, second)


def _check_backends(sample: Sample, first: str, second: str) -> None:
    check_same(run(sample, first), run(sample, second), sample.tolerance, f"{first}, {second}")


def check_decomposition(sample: Sample) -> Cells:
    """The decomposition against the lowering."""
    for name in sample.tried_on() if decomposed(sample) is not None else ():
        yield name, partial(_check_decomposition, sample, name)


def _check_decomposition(sample: Sample, name: str) -> None:
    function = decomposed(sample)
    with use_backend(name):
        if function is not None:
            found, expected = function(*sample.args), sample.apply(*sample.args)
            check_same(found, expected, sample.tolerance, "decomposed, lowered")


def check_refusals(sample: Sample) -> Cells:
    """The abstract evaluation refuses the sample, with the error that it names: asked alone, applied, and staged."""
    if sample.raises is not None:
        yield "inferred", partial(_check_refused, sample, lambda: _infer(sample))
        yield "applied", partial(_check_refused, sample, lambda: sample.apply(*sample.args))
        yield "staged", partial(_check_refused, sample, lambda: staged(sample, operands_of(sample)))


def _infer(sample: Sample) -> object:
    return sample.primitive.infer(tuple([get_aval(value) for value in operands_of(sample)]), dict(sample.params))


def _check_refused(sample: Sample, function: Callable[[], object]) -> None:
    expected = sample.raises if isinstance(sample.raises, tuple) else (sample.raises,)
    names = " or ".join([one.__name__ for one in expected if one is not None])
    with use_backend(reference_backend()):
        try:
            found = function()
        except Exception as error:
            if isinstance(error, tuple([one for one in expected if one is not None])):
                return
            raise Mismatch(f"refused with {type(error).__name__}: {error}; expected {names}") from error
    raise Mismatch(f"accepted, with the result {found!r}; expected {names}")


def check_dce(sample: Sample) -> Cells:
    """Each result alone, and all together, of a thinned program against those of the primitive."""
    if not sample.primitive.multiple_results and not carries_program(sample):
        return
    with use_backend(reference_backend()):
        count = len(sample.apply(*sample.args))
    for position in range(count):
        wanted = tuple([place == position for place in range(count)])
        yield f"result {position} alone", partial(_check_thinned, sample, wanted)
    if count > 1:
        yield "all but the first", partial(_check_thinned, sample, (False, *[True] * (count - 1)))
        yield "all", partial(_check_thinned, sample, (True,) * count)


def _check_thinned(sample: Sample, wanted: tuple[bool, ...]) -> None:
    def thinned(*args: object) -> tuple[Array, ...]:
        operands = tuple([as_array(value) for value in sample.operands(*args)])
        closed = staged(sample, operands)
        jaxpr, used = dce_jaxpr(closed.jaxpr, wanted)
        check_jaxpr(jaxpr)
        outs = eval_jaxpr(jaxpr, closed.consts, *[x for x, is_used in zip(operands, used, strict=True) if is_used])
        return tuple([sample.leave(out) for out in outs])

    with use_backend(reference_backend()):
        expected = [x for x, w in zip(as_numpy(sample.apply(*sample.args)), wanted, strict=True) if w]
        check_same(sample.around(thinned)(*sample.args), expected, sample.tolerance, "without dead code, whole")
