"""What the setting `debug_key_reuse` does: keys are followed through eager operations and compiled programs."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._random.key_reuse.uses import Keys, KeyUse, check, results, use_of_program
from tangrad._random.keys import is_key
from tangrad.core import (
    Array,
    ClosedJaxpr,
    Literal,
    Primitive,
    ShapedArray,
    Tracer,
    current_source,
    get_aval,
    rule_table,
    thread,
)
from tangrad.core.programs import program_watchers, watch_operations

if TYPE_CHECKING:
    from tangrad.typing import Params, Value

    Run = Callable[[Sequence[Value]], Sequence[Array]]
    Execute = Callable[[Sequence[Array]], list[Array]]

# The keys of each array that was seen, while it lives: by its id, with a reference that forgets it.
_seen: dict[int, tuple[weakref.ref[Array], Keys]] = {}


def _keys_of(value: object) -> Keys | None:
    """The keys of an array; of one that was never seen, unused keys. None for what has none."""
    if type(value) is Literal or not isinstance(value, Array) or isinstance(value, Tracer):
        return None
    if not isinstance(value.aval, ShapedArray) or not is_key(value.aval):
        return None
    found = _seen.get(id(value))
    if found is not None and found[0]() is value:
        return found[1]
    keys = Keys.of(value.aval)
    _remember(value, keys)
    return keys


def _remember(value: Array, keys: Keys) -> None:
    name = id(value)

    def forget(reference: object) -> None:
        if _seen.get(name, (None,))[0] is reference:
            _seen.pop(name, None)

    _seen[name] = (weakref.ref(value, forget), keys)


class _Inside(threading.local):
    """Whether this thread is inside of an operation: what runs there is looked at with it, not by itself."""

    active = False


_inside = _Inside()


def _is_watching() -> bool:
    return bool(thread.debug_key_reuse) and not _inside.active


def _followed(
    use: KeyUse, values: Sequence[Value], run: Run, by: str, chosen: Callable[..., Sequence[Array]] | None = None
) -> Sequence[Array]:
    """`run(values)`, a sequence of results, having checked the keys among them, and noting what is used and made.

    `chosen(operand, places)`: the results for the places of an operand's keys instead of these.
    """
    given = [_keys_of(value) for value in values]
    consumed = [(given[at], which, values[at].aval) for at, which in use.consumes.items()]
    used = [(keys, which, aval) for keys, which, aval in consumed if keys is not None]
    for keys, which, aval in used:
        check(keys, which, aval, by)
    _inside.active = True
    try:
        outs = run(values)
        if chosen is not None and use.some:
            use = use._replace(moved={**use.moved, **_places_chosen(use, given, chosen)})
    finally:
        _inside.active = False
    for keys, which, _ in used:
        keys.use(which, by)
    for out, made in zip(outs, results(use, given, [out.aval for out in outs], by), strict=True):
        if made is not None:
            _remember(out, made)
    return outs


def _places_chosen(
    use: KeyUse, given: Sequence[Keys | None], run: Callable[..., Sequence[Array]]
) -> dict[int, tuple[int, np.ndarray]]:
    """Which keys of its operand each result has: what the operation makes of their numbers."""
    found = {}
    for result, operand in use.some.items():
        keys = given[operand]
        if keys is not None and keys.places is not None:
            numbers = np.arange(keys.places.size, dtype=np.int32).reshape(keys.places.shape)
            try:
                found[result] = (operand, np.asarray(run(operand, numbers)[result]))
            except (TypeError, ValueError):  # it takes nothing but keys
                continue
    return found


def _around_operations(compute: Callable[..., Any]) -> Callable[..., Any]:
    def watched(primitive: Primitive, args: tuple[Any, ...], params: Params) -> Sequence[Array] | Array:
        if not _is_watching() or not any([_keys_of(arg) is not None for arg in args]):
            return compute(primitive, args, params)
        if callable(params.get("jaxpr")):  # a function as it is: its operations come by one by one
            return compute(primitive, args, params)
        use = rule_table("key_reuse")[primitive](tuple([arg.aval for arg in args]), **params)
        several = primitive.multiple_results

        def run(values: Sequence[object]) -> Sequence[Array]:
            out = compute(primitive, tuple(values), params)
            return out if several else (out,)

        def chosen(operand: int, numbers: object) -> Sequence[Array]:
            values = list(args)
            values[operand] = type(args[operand]).backend.put(numbers, get_aval(numbers))
            return run(values)

        source = thread.source or current_source()
        by = primitive.name if source is None else f"{primitive.name} at {source.summarize()}"
        outs = _followed(use, args, run, by, chosen)
        return outs if several else outs[0]

    return watched


def _around_program(execute: Execute, closed: ClosedJaxpr, name: str) -> Execute:
    """A compiled program that follows keys, if it is given or returns some."""
    atoms = (*closed.jaxpr.invars, *closed.jaxpr.constvars, *closed.jaxpr.outvars)
    if not any([isinstance(atom.aval, ShapedArray) and is_key(atom.aval) for atom in atoms]):
        if thread.debug_key_reuse:
            use_of_program(closed)
        return execute
    use = use_of_program(closed) if thread.debug_key_reuse else None

    def watched(arrays: Sequence[Array]) -> list[Array]:
        if use is None or not _is_watching():
            return execute(arrays)
        given = [*arrays, *closed.consts]
        return list(_followed(use, given, lambda _: execute(arrays), f"the compiled function {name!r}"))

    return watched


_followed_already: list[bool] = []


def follow_keys() -> None:
    """Look at operations and programs from now on, wherever the setting is on."""
    if not _followed_already:
        _followed_already.append(True)
        program_watchers.append(_around_program)
        watch_operations(_around_operations)
