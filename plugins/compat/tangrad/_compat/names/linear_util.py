"""`jax.extend.linear_util`: functions as jax's transformations take them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")


class DebugInfo(NamedTuple):
    """What errors say of a function that is traced."""

    traced_for: str = "unknown"
    func_src_info: str = "unknown"


class WrappedFun:
    """A function, and what was wrapped around it.

    Attributes:
        f: the function of the user.
        debug_info: what errors say of it.
    """

    def __init__(self, call: Callable[..., object], debug_info: DebugInfo, f: Callable[..., object]) -> None:
        self.call_wrapped: Any = call
        self.debug_info = debug_info
        self.f = f

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", repr(self.f))


def wrap_init(
    f: Callable[..., object], params: dict[str, object] | None = None, *, debug_info: DebugInfo | None = None
) -> WrappedFun:
    """A function to wrap, with keyword arguments `params` given."""
    fixed = dict(params or {})
    call = (lambda *args, **kwargs: f(*args, **fixed, **kwargs)) if fixed else f
    return WrappedFun(call, debug_info or DebugInfo(), f)


def transformation(generator: Callable[..., Generator[Any, object, Any]]) -> Callable[..., WrappedFun]:
    """What wraps functions by a generator function, which yields arguments, is sent the result, yields another."""

    @wraps(generator)
    def wrap(function: WrappedFun, *fixed: object) -> WrappedFun:
        def call(*args: object, **kwargs: object) -> object:
            steps = generator(*fixed, *args, **kwargs)
            inner_args, inner_kwargs = next(steps)
            return steps.send(function.call_wrapped(*inner_args, **inner_kwargs))

        return WrappedFun(call, function.debug_info, function.f)

    return wrap


def transformation2(change: Callable[..., object]) -> Callable[..., WrappedFun]:
    """What wraps functions: calls of them are `change(function, *fixed, *args, **kwargs)`."""

    @wraps(change)
    def wrap(function: WrappedFun, *fixed: object) -> WrappedFun:
        call = partial(change, function.call_wrapped, *fixed)
        return WrappedFun(call, function.debug_info, function.f)

    return wrap


def transformation_with_aux(
    generator: Callable[..., Generator[Any, object, Any]],
) -> Callable[..., tuple[WrappedFun, Callable[[], Any]]]:
    """As `transformation`, of a generator function that yields the result and something beside it.

    What wraps a function returns a function of no arguments, too, which gives what was beside the latest result.
    """

    def change(function: Callable[..., Any], store: Store, *args: object, **kwargs: object) -> Any:
        steps = generator(*args, **kwargs)
        inner_args, inner_kwargs = next(steps)
        out, beside = steps.send(function(*inner_args, **inner_kwargs))
        store.store(beside)
        return out

    return wraps(generator)(transformation_with_aux2(change))


def transformation_with_aux2(change: Callable[..., object]) -> Callable[..., tuple[WrappedFun, Callable[[], Any]]]:
    """As `transformation_with_aux`, of `change(function, store, *fixed, *args, **kwargs)`, which stores it."""

    @wraps(change)
    def wrap(function: WrappedFun, *fixed: object, **options: object) -> tuple[WrappedFun, Callable[[], Any]]:
        store = Store()
        call = partial(change, function.call_wrapped, store, *fixed)
        return WrappedFun(call, function.debug_info, function.f), lambda: store.val

    return wrap


class StoreException(Exception):
    """Something was asked for before it was there, or stored twice."""


class Store:
    """A place for what a function gives beside its result. Raises StoreException where it is read before."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: list[object] = []

    def store(self, value: object) -> None:
        """Put something there, in the place of what was."""
        self._values = [value]

    @property
    def val(self) -> Any:
        if not self._values:
            raise StoreException("nothing was stored: the function was not called yet")
        return self._values[0]

    def __bool__(self) -> bool:
        return bool(self._values)


def merge_linear_aux(first: Callable[[], object], second: Callable[[], object]) -> tuple[bool, object]:
    """What one of two stores has, and whether it is the first. Raises StoreException where none or both have one."""
    found = []
    for is_first, read in ((True, first), (False, second)):
        with suppress(StoreException):
            found.append((is_first, read()))
    if len(found) != 1:
        raise StoreException(f"one of two functions must have been called, not {('none', '', 'both')[len(found)]}")
    return found[0]


def cache(call: Callable[..., T], *, explain: object = None) -> Callable[..., T]:
    """Keep what `call(function, *args)` returned, for each function that was wrapped alike and for arguments."""
    kept: WeakKeyDictionary[WrappedFun, dict[tuple[object, ...], T]] = WeakKeyDictionary()

    @wraps(call)
    def looked_up(function: WrappedFun, *args: object) -> T:
        results = kept.setdefault(function, {})
        if args not in results:
            results[args] = call(function, *args)
        return results[args]

    return looked_up
