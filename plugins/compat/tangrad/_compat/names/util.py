"""`jax._src.util`: small functions of sequences and of caches."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar

from tangrad import config

T = TypeVar("T")

if TYPE_CHECKING:
    A = TypeVar("A")
    B = TypeVar("B")
    C = TypeVar("C")


def safe_zip(*sequences: Iterable[object]) -> list[tuple[Any, ...]]:
    """`zip` as a list. Raises ValueError for sequences of different lengths.

    >>> safe_zip([1, 2], "ab")
    [(1, 'a'), (2, 'b')]
    """
    return list(zip(*_same_lengths("safe_zip", sequences), strict=True))


def safe_map(function: Callable[..., T], *sequences: Iterable[object]) -> list[T]:
    """`map` as a list. Raises ValueError for sequences of different lengths.

    >>> safe_map(pow, [2, 3], [3, 2])
    [8, 9]
    """
    return list(map(function, *_same_lengths("safe_map", sequences)))


def _same_lengths(name: str, sequences: Sequence[Iterable[object]]) -> list[list[object]]:
    lists = [list(sequence) for sequence in sequences]
    if len({len(each) for each in lists}) > 1:
        raise ValueError(f"{name}: the sequences must have one length, got {[len(each) for each in lists]}")
    return lists


def foreach(function: Callable[..., object], *sequences: Iterable[object]) -> None:
    """Call a function of the elements of each position. Raises ValueError for sequences of different lengths."""
    safe_map(function, *sequences)


def unzip2(pairs: Iterable[tuple[A, B]]) -> tuple[tuple[A, ...], tuple[B, ...]]:
    """The first ones and the second ones of pairs; of none, two empty tuples."""
    listed = list(pairs)
    return tuple([first for first, _ in listed]), tuple([second for _, second in listed])


def unzip3(
    triples: Iterable[tuple[A, B, C]],
) -> tuple[tuple[A, ...], tuple[B, ...], tuple[C, ...]]:
    """As `unzip2`, of triples."""
    listed = list(triples)
    return tuple([a for a, _, _ in listed]), tuple([b for _, b, _ in listed]), tuple([c for _, _, c in listed])


def split_list(values: Sequence[T], lengths: Sequence[int]) -> list[list[T]]:
    """Consecutive parts of a sequence, of these lengths, and what is left. Raises ValueError where it is too short.

    >>> split_list([1, 2, 3, 4], [1, 2])
    [[1], [2, 3], [4]]
    """
    if sum(lengths) > len(values):
        raise ValueError(f"split_list: parts of the lengths {list(lengths)} need more than {len(values)} elements")
    ends = [0, *itertools.accumulate(lengths), len(values)]
    return [list(values[start:end]) for start, end in itertools.pairwise(ends)]


def split_list_checked(values: Sequence[T], lengths: Sequence[int]) -> list[list[T]]:
    """Consecutive parts of these lengths, of which nothing is left. Raises ValueError where the sum is another."""
    if sum(lengths) != len(values):
        raise ValueError(f"split_list_checked: {list(lengths)} are not the lengths of parts of {len(values)} elements")
    return split_list(values, list(lengths)[:-1])


def partition_list(which: Sequence[bool], values: Sequence[T]) -> tuple[list[T], list[T]]:
    """The elements where `which` is False, and those where it is True.

    >>> partition_list([True, False, True], "abc")
    (['b'], ['a', 'c'])
    """
    pairs = safe_zip(which, values)
    return [value for is_second, value in pairs if not is_second], [value for is_second, value in pairs if is_second]


def merge_lists(which: Sequence[bool], first: Sequence[T], second: Sequence[T]) -> list[T]:
    """What `partition_list` took apart."""
    rest = iter(first), iter(second)
    merged = [next(rest[is_second]) for is_second in which]
    if any([next(left, rest) is not rest for left in rest]):
        raise ValueError(f"merge_lists: {len(first)} and {len(second)} elements are more than {len(which)} places")
    return merged


def concatenate(sequences: Iterable[Iterable[T]]) -> list[T]:
    """The elements of all sequences, in a list."""
    return list(itertools.chain.from_iterable(sequences))


flatten = concatenate


def unflatten(values: Iterable[T], lengths: Sequence[int]) -> list[list[T]]:
    """Consecutive parts of these lengths."""
    rest = iter(values)
    return [list(itertools.islice(rest, length)) for length in lengths]


def subvals(values: Sequence[T], replacements: Iterable[tuple[int, T]]) -> tuple[T, ...]:
    """A copy with other elements at some positions."""
    found = list(values)
    for position, value in replacements:
        found[position] = value
    return tuple(found)


def tuple_insert(values: tuple[T, ...], position: int, value: T) -> tuple[T, ...]:
    """A copy with one element more."""
    return (*values[:position], value, *values[position:])


def tuple_delete(values: tuple[T, ...], position: int) -> tuple[T, ...]:
    """A copy without the element at a position."""
    return (*values[:position], *values[position + 1 :])


def tuple_update(values: tuple[T, ...], position: int, value: T) -> tuple[T, ...]:
    """A copy with another element at a position."""
    return (*values[:position], value, *values[position + 1 :])


tuple_replace = tuple_update


def canonicalize_axis(axis: SupportsIndex, num_dims: int) -> int:
    """An axis from 0 to `num_dims - 1`; negative ones count from the end. Raises ValueError for one out of range."""
    found = operator.index(axis)
    if not -num_dims <= found < num_dims:
        raise ValueError(f"axis {found} is out of bounds for an array of {num_dims} dimensions")
    return found % num_dims


def ceil_of_ratio(x: int, y: int) -> int:
    """The smallest integer that is not less than `x / y`."""
    return -(-x // y)


def fun_name(function: Callable[..., object], default: str = "<unnamed function>") -> str:
    """The name of a function, of what a `functools.partial` calls too."""
    return fun_name(function.func, default) if isinstance(function, functools.partial) else _name_of(function, default)


def _name_of(function: Callable[..., object], default: str) -> str:
    return getattr(function, "__name__", default)


def wrap_name(transform_name: str, name: str) -> str:
    """What a transformed function is called."""
    return f"{transform_name}({name})"


def wraps(
    wrapped: Callable[..., object], namestr: str | None = None, docstr: str | None = None, **kwargs: object
) -> Callable[[T], T]:
    """As `functools.wraps`; `namestr` and `docstr` say the name and the text with `{fun}` and `{doc}` in them."""

    def wrap(function: T) -> T:
        named: Any = function
        functools.update_wrapper(named, wrapped)
        name, text = fun_name(wrapped), getattr(wrapped, "__doc__", "") or ""
        named.__name__ = named.__qualname__ = name if namestr is None else namestr.format(fun=name)
        named.__doc__ = text if docstr is None else docstr.format(fun=name, doc=text, **kwargs)
        return function

    return wrap


def curry(function: Callable[..., T]) -> Callable[..., Callable[..., T]]:
    """The function that takes the first arguments, and returns one of the others."""
    return functools.partial(functools.partial, function)


def cache(max_size: int | None = 4096, **options: object) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Keep the latest results of a function, apart for each setting of 64-bit dtypes."""

    def wrap(function: Callable[..., T]) -> Callable[..., T]:
        @functools.lru_cache(maxsize=max_size)
        def kept(x64: bool, *args: object, **kwargs: object) -> T:
            return function(*args, **kwargs)

        @functools.wraps(function)
        def call(*args: object, **kwargs: object) -> T:
            return kept(config.enable_x64, *args, **kwargs)

        named: Any = call
        named.cache_info, named.cache_clear = kept.cache_info, kept.cache_clear
        return call

    return wrap


memoize = cache(max_size=None)


class HashableFunction:
    """A function that is equal to others by what it closed over, and not by its identity."""

    def __init__(self, function: Callable[..., object], closure: object) -> None:
        self.f = function
        self.closure = closure

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, HashableFunction)
            and self.f.__code__ == other.f.__code__
            and (self.closure == other.closure)
        )

    def __hash__(self) -> int:
        return hash((self.f.__code__, self.closure))

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return self.f(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<hashable function {fun_name(self.f)} of {self.closure}>"


def as_hashable_function(closure: object) -> Callable[..., HashableFunction]:
    """A decorator: functions of one text are equal where `closure` is."""
    return lambda function: HashableFunction(function, closure)


class HashablePartial:
    """A partial application that is equal to others of the same function and arguments."""

    def __init__(self, function: Callable[..., object], *args: object, **kwargs: object) -> None:
        self.f, self.args, self.kwargs = function, args, kwargs

    def _key(self) -> tuple[object, ...]:
        return self.f, self.args, tuple(sorted(self.kwargs.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HashablePartial) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return self.f(*self.args, *args, **self.kwargs, **kwargs)


def toposort(ends: Sequence[object]) -> list[object]:
    """What `ends` and their `parents` are, each after its own parents."""
    found: dict[int, object] = {}

    def visit(node: Any) -> Iterator[Any]:
        for parent in node.parents:
            if id(parent) not in found:
                yield from visit(parent)
        if id(node) not in found:
            found[id(node)] = node
            yield node

    return [node for end in ends for node in visit(end)]


def set_module(module: str) -> Callable[[T], T]:
    """A decorator that states where a function or class is found."""

    def wrap(value: T) -> T:
        named: Any = value
        named.__module__ = module
        return value

    return wrap
