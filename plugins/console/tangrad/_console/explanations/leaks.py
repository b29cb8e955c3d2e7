"""Who holds a tracer that should be gone: the words of LeakedTracerError."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from types import CellType, FrameType, FunctionType, GeneratorType, ModuleType
from typing import Any

_SHOWN = 5  # tracers of one trace that are described; the first ones show the mistake as well as all
_DEPTH = 3  # how far from a tracer a holder is looked for: an element of a list in an attribute of an object
_PASSING: tuple[type, ...] = (
    FrameType,
    GeneratorType,
    type(iter(())),
    type(iter([])),
)  # hold a value only while code runs

_ADVICE = """\
A function under jit, grad, vmap must hand on what it computes by returning it; what it puts elsewhere is useless
afterwards. Return the value instead, or keep a copy that is made outside of the function."""


def describe_leak(trace: Any, leaked: Sequence[Any]) -> str:
    """The text about the `leaked` tracers of the ended `trace`: what each is, where it was made, what holds it."""
    kind = type(trace).__name__
    if not leaked:
        return f"{kind} has ended and something still holds it, though none of its tracers.\n{_ADVICE}"
    lines = [f"{kind} has ended and {len(leaked)} of its tracers are still held:"]
    for index in range(min(len(leaked), _SHOWN)):
        lines.append(f"  {_described(leaked[index])}: held by {_holders(leaked[index], {id(leaked), id(trace)})}")
    if len(leaked) > _SHOWN:
        lines.append(f"  and {len(leaked) - _SHOWN} more")
    return "\n".join([*lines, _ADVICE])


def _described(tracer: Any) -> str:
    aval = getattr(tracer, "aval", None)
    source = getattr(tracer, "source_info", None)
    what = aval.str_short() if aval is not None else type(tracer).__name__
    return f"{what}, made at {source.summarize()}" if source is not None else what


def _holders(tracer: Any, ignored: set[int]) -> str:
    names: list[str] = []
    _name_holders(tracer, ignored, _DEPTH, "", names)
    return "; ".join(dict.fromkeys(names)) or "an object that the garbage collector does not see"


# Plain loops below, and no comprehension or generator: those would hold `obj` in cells and frames that then show up
# among its holders.


def _name_holders(obj: Any, ignored: set[int], depth: int, path: str, names: list[str]) -> None:
    """Append names for what refers to `obj`, followed outwards until something has a name in the program."""
    referrers = gc.get_referrers(obj)
    ignored = {*ignored, id(referrers), id(obj)}
    for holder in referrers:
        if id(holder) in ignored or isinstance(holder, _PASSING):
            continue
        known = len(names)
        if isinstance(holder, CellType):
            names.append(_closure(holder, ignored) + path)
        elif isinstance(holder, (list, tuple, set, frozenset, dict)):
            if isinstance(holder, dict) and (owner := _owner_of_namespace(holder, ignored)) is not None:
                names.append(_attribute(owner, holder, obj) + path)
            elif depth:
                _name_holders(holder, ignored, depth - 1, f"{path} (in a {type(holder).__name__})", names)
            if len(names) == known:
                names.append(f"a {type(holder).__name__} of {len(holder)}{path}")
        else:
            names.append(_attribute(holder, _namespace(holder), obj) + path)


def _owner_of_namespace(namespace: dict[Any, Any], ignored: set[int]) -> Any:
    """The module or object whose `__dict__` is `namespace`, or None for an ordinary dictionary."""
    for owner in gc.get_referrers(namespace):
        if id(owner) not in ignored and getattr(owner, "__dict__", None) is namespace:
            return owner
    return None


def _namespace(owner: Any) -> dict[str, Any]:
    """The attributes of an object, slots included."""
    found = dict(getattr(owner, "__dict__", {}))
    for base in type(owner).__mro__:
        slots = base.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if hasattr(owner, slot):
                found[slot] = getattr(owner, slot)
    return found


def _attribute(owner: Any, namespace: dict[Any, Any], value: Any) -> str:
    for key, held in namespace.items():
        if held is value:
            if isinstance(owner, ModuleType):
                return f"the global {key!r} of module {owner.__name__}"
            return f"the attribute {key!r} of an object of type {type(owner).__name__}"
    return f"an object of type {type(owner).__name__}"


def _closure(cell: CellType, ignored: set[int]) -> str:
    for closure in gc.get_referrers(cell):
        if isinstance(closure, tuple) and id(closure) not in ignored:
            for function in gc.get_referrers(closure):
                if isinstance(function, FunctionType) and function.__closure__ is closure:
                    name = function.__code__.co_freevars[closure.index(cell)]
                    return f"the variable {name!r} that function {function.__qualname__!r} closes over"
    return "a variable that a function closes over"
