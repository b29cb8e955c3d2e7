"""Sums of products by the names of dimensions: `tangrad.numpy.einsum`, `einsum_path`, `tangrad.lax.xeinsum`."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from tangrad._numpy.axes import permuted
from tangrad._numpy.fusing import as_one
from tangrad._numpy.named_subscripts import positional_subscripts
from tangrad._numpy.operands import BOOL, INT32, array_operand, literal_like, promote, refuse_out, user_dtype
from tangrad.core import Array
from tangrad.core.arguments import is_symbolic
from tangrad.extend.lax import (
    DotDimensionNumbers,
    canonicalize_precision,
    convert_element_type_p,
    dot_general_p,
    eq_p,
    iota_p,
    reduce_sum_p,
    select_n_p,
    sharded_call,
    squeeze_p,
)
from tangrad.lax import PrecisionLike
from tangrad.typing import ArrayLike, Dimensions, DTypeLike, ShardingLike, Value

# --- Sums of products by the names of dimensions: `tangrad.numpy.einsum`, `einsum_path` ---
# The subscripts become one label for each dimension; a path is which operands meet first; each meeting of two is one
# `dot_general`, after diagonals were taken and dimensions that only one of them has were added up.


Label = int | str | tuple[str, int]  # a letter, a number, or a place in an ellipsis
Labels = tuple[Label, ...]
Sizes = Mapping[Label, int]
Term = tuple[Value, Labels]  # an array, and a label for each of its dimensions

# The labels of the operands and of the result, the size of each label, and the path.
Plan = tuple[list[Labels], Labels, Sizes, list[tuple[int, ...]]]

_ELLIPSIS = "..."
# Up to this many operands every order of contraction is tried; beyond, the cheapest next step is taken.
_EXHAUSTIVE = 5


# --- subscripts ---


def _symbols(term: str) -> list[str]:
    """The symbols of one term: letters, and the ellipsis as one symbol."""
    symbols: list[str] = []
    position = 0
    while position < len(term):
        if term.startswith(_ELLIPSIS, position):
            symbols.append(_ELLIPSIS)
            position += 3
        elif term[position].isspace():
            position += 1
        elif term[position].isalpha():
            symbols.append(term[position])
            position += 1
        else:
            raise ValueError(f"einsum: unexpected character {term[position]!r} in subscripts {term!r}")
    return symbols


def _from_text(subscripts: str, count: int) -> tuple[list[list[str]], list[str] | None]:
    left, arrow, right = subscripts.partition("->")
    terms = [_symbols(term) for term in left.split(",")]
    if len(terms) != count:
        raise ValueError(f"einsum: subscripts {subscripts!r} have {len(terms)} terms, but there are {count} operands")
    return terms, _symbols(right) if arrow else None


def _from_lists(arguments: Sequence[Any]) -> tuple[list[Any], list[list[int | str]], list[int | str] | None]:
    """The other calling form: einsum(x, [0, 1], y, [1, 2], [0, 2])."""
    operands, terms = list(arguments[0::2]), list(arguments[1::2])
    output = None
    if len(operands) > len(terms):
        output = operands.pop()
    named = [[_ELLIPSIS if item is Ellipsis else item for item in term] for term in terms]
    return operands, named, None if output is None else [_ELLIPSIS if item is Ellipsis else item for item in output]


def _expanded(
    terms: Sequence[Sequence[int | str]], output: Sequence[int | str] | None, ranks: Sequence[int]
) -> tuple[list[Labels], Labels]:
    """Ellipses replaced by labels, counted from the end; the implicit output written out."""
    rest = [_ellipsis_rank(term, rank) for term, rank in zip(terms, ranks)]
    widest = max(rest, default=0)
    labels: list[Label] = [("...", widest - position) for position in range(widest)]
    inputs = [_replaced(term, labels[widest - count :]) for term, count in zip(terms, rest)]
    if output is None:
        named = [label for term in terms for label in term if label != _ELLIPSIS]
        once = sorted({label for label in named if named.count(label) == 1})
        return inputs, (*labels, *once)
    result = _replaced(output, labels)
    known = {label for term in inputs for label in term}
    if len(set(result)) != len(result) or not set(result) <= known:
        raise ValueError(f"einsum: the output {output} must not repeat a dimension, nor name one that no operand has")
    return inputs, result


def _ellipsis_rank(term: Sequence[int | str], rank: int) -> int:
    count = term.count(_ELLIPSIS)
    named = len(term) - count
    if count > 1 or (count == 0 and named != rank) or named > rank:
        text = "".join(map(str, term))
        raise ValueError(f"einsum: subscripts {text!r} do not fit an operand of {rank} dimensions")
    return rank - named if count else 0


def _replaced(term: Sequence[Label], labels: Sequence[Label]) -> Labels:
    return tuple([new for label in term for new in (labels if label == _ELLIPSIS else (label,))])


def _planned(arguments: tuple[object, ...], optimize: object) -> tuple[Sequence[Value], Plan]:
    """The operands, and the plan for their shapes."""
    if isinstance(arguments[0], str):
        made = [array_operand("einsum", value, position) for position, value in enumerate(arguments[1:])]
        shapes = tuple([x.aval.shape for x in made])
        if isinstance(optimize, (bool, str)):
            return made, _plan_of_text(arguments[0], shapes, optimize)
        return made, _plan(*_from_text(arguments[0], len(made)), shapes, optimize)
    operands, terms, output = _from_lists(arguments)
    made = [array_operand("einsum", value, position) for position, value in enumerate(operands)]
    return made, _plan(terms, output, tuple([x.aval.shape for x in made]), optimize)


@lru_cache(1024)
def _plan_of_text(subscripts: str, shapes: tuple[Dimensions, ...], optimize: object) -> Plan:
    return _plan(*_from_text(subscripts, len(shapes)), shapes, optimize)


def _plan(
    terms: Sequence[Sequence[int | str]],
    output: Sequence[int | str] | None,
    shapes: tuple[Dimensions, ...],
    optimize: object,
) -> Plan:
    if not shapes:
        raise ValueError("einsum requires at least one operand")
    inputs, result = _expanded(terms, output, [len(shape) for shape in shapes])
    sizes = _sizes(shapes, inputs)
    return inputs, result, sizes, _path(inputs, result, sizes, optimize)


def _sizes(shapes: Sequence[Dimensions], inputs: Sequence[Labels]) -> Sizes:
    """The size of each label; an operand's size of 1 is broadcast to another's, but a diagonal has one size."""
    sizes: dict[Label, int] = {}
    for shape, labels in zip(shapes, inputs):
        own: dict[Label, int] = {}
        for label, size in zip(labels, shape):
            if own.setdefault(label, size) != size:
                raise ValueError(f"einsum: dimension {label!r} has sizes {own[label]} and {size} in one operand")
            known = sizes.get(label, 1)
            if known != 1 and size != 1 and known != size:
                raise ValueError(f"einsum: dimension {label!r} has size {known} in one operand and {size} in another")
            if known == 1:
                sizes[label] = size
    return sizes


# --- the order of contraction ---


def _kept_labels(
    first: frozenset[Label], second: frozenset[Label], others: Sequence[frozenset[Label]], output: frozenset[Label]
) -> frozenset[Label]:
    return frozenset(first | second) & frozenset(output).union(*others)


_GUESS = 64  # for a symbolic size, where the order of contractions is chosen; any order is right


def _volume(labels: Iterable[Label], sizes: Sizes) -> float:
    return math.prod([_GUESS if is_symbolic(sizes[label]) else int(sizes[label]) for label in labels])


def _greedy(terms: list[frozenset[Label]], output: frozenset[Label], sizes: Sizes) -> list[tuple[int, ...]]:
    """The pair whose product adds least to what must be stored goes first."""
    path = []
    while len(terms) > 2:
        best: Any = None
        for i, j in combinations(range(len(terms)), 2):
            others = [term for k, term in enumerate(terms) if k not in (i, j)]
            result = _kept_labels(terms[i], terms[j], others, output)
            grown = _volume(result, sizes) - _volume(terms[i], sizes) - _volume(terms[j], sizes)
            cost = (grown, _volume(terms[i] | terms[j], sizes))
            if best is None or cost < best[0]:
                best = cost, i, j, result
        _, i, j, result = best
        path.append((i, j))
        terms = [term for k, term in enumerate(terms) if k not in (i, j)] + [result]
    return [*path, tuple(range(len(terms)))]


def _optimal(terms: list[frozenset[Label]], output: frozenset[Label], sizes: Sizes) -> list[tuple[int, ...]]:
    """The path of fewest multiplications, by trying all."""
    best: tuple[float, list[tuple[int, ...]]] = (math.inf, [])

    def search(rest: list[frozenset[Label]], path: list[tuple[int, ...]], cost: float) -> None:
        nonlocal best
        if cost >= best[0]:
            return
        if len(rest) == 1:
            best = cost, path
            return
        for i, j in combinations(range(len(rest)), 2):
            others = [term for k, term in enumerate(rest) if k not in (i, j)]
            step = _volume(rest[i] | rest[j], sizes)
            search([*others, _kept_labels(rest[i], rest[j], others, output)], [*path, (i, j)], cost + step)

    search(terms, [], 0.0)
    return best[1] or _greedy(terms, output, sizes)


def _path(inputs: Sequence[Labels], output: Labels, sizes: Sizes, optimize: object) -> list[tuple[int, ...]]:
    if isinstance(optimize, (list, tuple)) and optimize and not isinstance(optimize[0], (str, int)):
        return [tuple(step) for step in optimize]
    if isinstance(optimize, (list, tuple)) and optimize and optimize[0] == "einsum_path":
        return [tuple(step) for step in optimize[1:]]
    if len(inputs) <= 2:
        return [tuple(range(len(inputs)))]
    if optimize is False:
        return [(0, 1), *[(0, len(inputs) - step) for step in range(2, len(inputs))]]
    if optimize not in (True, "auto", "optimal", "greedy", "dp", "branch-all", "branch-2", "auto-hq"):
        raise ValueError(f"einsum: unknown optimize {optimize!r}; expected True, False, 'optimal', 'greedy' or a path")
    terms, result = [frozenset(labels) for labels in inputs], frozenset(output)
    search = _greedy if optimize == "greedy" or len(inputs) > _EXHAUSTIVE else _optimal
    return search(terms, result, sizes)


# --- one step ---


def _diagonal(x: Value, labels: Labels) -> Term:
    """Repeated labels: what is off the diagonal becomes 0 and is added away."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            shape = x.aval.shape
            rows, columns = [iota_p.bind(dtype=INT32, shape=shape, dimension=axis) for axis in (first, second)]
            x = select_n_p.bind(eq_p.bind(rows, columns), literal_like(x, 0), x)
            x, labels = _summed(x, labels, [first])
    return x, labels


def _summed(x: Value, labels: Labels, axes: Sequence[int]) -> Term:
    if not axes:
        return x, labels
    left = tuple([label for axis, label in enumerate(labels) if axis not in axes])
    if x.aval.dtype is BOOL:
        return x.any(axis=tuple(axes)), left
    return reduce_sum_p.bind(x, axes=tuple(axes)), left


def _reduced(x: Value, labels: Labels, needed: Collection[Label]) -> Term:
    """Without repeated labels, and without unused dimensions."""
    x, labels = _diagonal(x, labels)
    return _summed(x, labels, [axis for axis, label in enumerate(labels) if label not in needed])


def _without_ones(x: Value, labels: Labels, others: Labels, sizes: Sizes) -> Term:
    """Dimensions of size 1 that are broadcast against another operand's are dropped."""
    shape = x.aval.shape
    drop = [axis for axis, label in enumerate(labels) if label in others and shape[axis] == 1 and sizes[label] != 1]
    if not drop:
        return x, labels
    left = tuple([label for axis, label in enumerate(labels) if axis not in drop])
    return squeeze_p.bind(x, dimensions=tuple(drop)), left


def _pair(
    first: Term, second: Term, needed: Collection[Label], sizes: Sizes, options: tuple[object, np.dtype | None]
) -> Term:
    (x, left), (y, right) = first, second
    x, left = _reduced(x, left, {*needed, *right})
    y, right = _reduced(y, right, {*needed, *left})
    x, left = _without_ones(x, left, right, sizes)
    y, right = _without_ones(y, right, left, sizes)
    x, left = _reduced(x, left, {*needed, *right})
    y, right = _reduced(y, right, {*needed, *left})
    shared = [label for label in left if label in right]
    batch = [label for label in shared if label in needed]
    summed = [label for label in shared if label not in needed]
    numbers = DotDimensionNumbers(
        (
            ([left.index(label) for label in summed], [right.index(label) for label in summed]),
            ([left.index(label) for label in batch], [right.index(label) for label in batch]),
        )
    )
    product = dot_general_p.bind(
        x, y, dimension_numbers=numbers, precision=options[0], preferred_element_type=options[1]
    )
    free = [label for label in (*left, *right) if label not in shared]
    return product, (*batch, *free)


def _arranged(x: Any, labels: Labels, output: Labels) -> Array:
    return permuted(x, tuple([labels.index(label) for label in output]))


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: bool | str | Sequence[tuple[int, ...]] = "auto",
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Sum products over dimensions that are named by letters.

    Args:
        subscripts: such as "ij,jk->ik": a letter for each dimension of each operand, then those of the result; letters
            that the result lacks are summed over, repeated ones take a diagonal. Without "->" the letters that occur
            once remain, in alphabetical order. "..." stands for further dimensions, which are broadcast.
            Names in braces, "{b,in}i,{in}ij->{b}j", are mapped axes: those that the result lacks are summed over.
        operands: arrays. Instead of letters, `einsum(x, [0, 1], y, [1, 2], [0, 2])` names dimensions by integers.
        out: must be None.
        optimize: in which order operands meet: "auto", "optimal", "greedy", True, False (left to right), or a path.
        precision: how exactly accelerators multiply.
        preferred_element_type: the dtype of the result.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array.

    Raises:
        TypeError: for what is no array.
        ValueError: for subscripts that do not fit the operands.

    >>> import tangrad
    >>> np = tangrad.numpy
    >>> np.einsum("ij,jk->ik", np.ones((2, 3)), np.ones((3, 2)))
    Array([[3., 3.],
           [3., 3.]], dtype=float32)
    """
    refuse_out("einsum", out)
    if out_sharding is not None:
        options = {"precision": precision, "preferred_element_type": preferred_element_type}
        return sharded_call(out_sharding, einsum, subscripts, *operands, optimize=optimize, **options)
    if isinstance(subscripts, str) and "{" in subscripts:
        subscripts, operands = positional_subscripts(subscripts, operands)
    run = _einsum_as_one if isinstance(subscripts, str) else _einsum
    return run(subscripts, operands, optimize, precision, preferred_element_type)


def _einsum(
    subscripts: str | Array,
    operands: Sequence[Sequence[int] | np.ndarray | Array],
    optimize: bool | str | Sequence[tuple[int, ...]],
    precision: object,
    preferred_element_type: DTypeLike | None,
) -> Array:
    made, (inputs, output, sizes, path) = _planned((subscripts, *operands), optimize)
    if len(made) > 1:
        made = promote("einsum", *made)
    preferred = None if preferred_element_type is None else user_dtype("einsum", preferred_element_type)
    options = canonicalize_precision(precision), preferred
    terms: list[Term] = list(zip(made, inputs))
    for step in path:
        chosen = [terms[position] for position in step]
        terms = [term for position, term in enumerate(terms) if position not in step]
        needed = {*output, *[label for _, labels in terms for label in labels]}
        terms.append(_contracted(chosen, needed, sizes, options))
    (x, labels), *_ = terms
    x, labels = _reduced(x, labels, output)
    result = _arranged(x, labels, output)
    if preferred is not None and result.aval.dtype is not preferred:
        result = convert_element_type_p.bind(result, new_dtype=preferred, weak_type=False)
    return result


_einsum_as_one = as_one(
    "subscripts", "optimize", "precision", "preferred_element_type", sequence="operands", name="einsum"
)(_einsum)


def _contracted(
    chosen: Sequence[Term], needed: Collection[Label], sizes: Sizes, options: tuple[object, np.dtype | None]
) -> Term:
    term = chosen[0]
    for position, following in enumerate(chosen[1:], 1):
        later = [label for _, labels in chosen[position + 1 :] for label in labels]
        term = _pair(term, following, {*needed, *later}, sizes, options)
    return term if len(chosen) > 1 else _reduced(*term, needed)


def einsum_path(
    subscripts: object, /, *operands: object, optimize: bool | str | Sequence[tuple[int, ...]] = "auto"
) -> tuple[list[tuple[int, ...]], str]:
    """Return in which order `einsum` contracts operands.

    Args:
        subscripts, operands: as of `einsum`.
        optimize: as of `einsum`.

    Returns:
        The path, a list of tuples of positions (results go to the end of the list), and a description of its cost.

    Raises:
        TypeError: for what is no array.
        ValueError: for subscripts that do not fit the operands.

    >>> import tangrad
    >>> np = tangrad.numpy
    >>> np.einsum_path("ij,jk,k->i", np.ones((2, 3)), np.ones((3, 4)), np.ones(4))[0]
    [(1, 2), (0, 1)]
    """
    _, (inputs, output, sizes, path) = _planned((subscripts, *operands), optimize)
    terms = [frozenset(labels) for labels in inputs]
    everything = _volume(frozenset[Label]().union(*terms), sizes)
    cost = 0.0
    for step in path:
        chosen = frozenset[Label]().union(*[terms[position] for position in step])
        terms = [term for position, term in enumerate(terms) if position not in step]
        cost += _volume(chosen, sizes)
        terms.append(chosen & frozenset(output).union(*terms))
    return path, f"all at once: {everything:.3g} multiplications; along the path: {cost:.3g}"


# --- `lax.xeinsum`: sums of products over dimensions with letters and mapped axes with names ---


def xeinsum(spec: str, *operands: ArrayLike) -> Array:
    """Sum products over dimensions, which have letters, and over mapped axes, which have their names in braces.

    Args:
        spec: such as "ij{batch},jk->ik": a term for each operand, a letter for each of its dimensions, and in braces
            the names of mapped axes; then "->" and the term of the result. Letters and names that the result lacks
            are summed over.
        operands: arrays, as many as there are terms.

    Returns:
        An array, the same for all examples along the axes that are summed over.

    Raises:
        TypeError: for what is no text or no array. NameError: for names that no mapped axis in scope has.
        ValueError: without "->", for a result with names or letters that no operand has, and for terms that do not fit.

    >>> import tangrad
    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> x, w = np.ones((3, 2)), np.arange(12.0).reshape(3, 4)
    >>> product = lambda a, b: lax.xeinsum("a{i},b{i}->ab", a, b)
    >>> tangrad.vmap(product, axis_name="i", out_axes=None)(x, w)
    Array([[12., 15., 18., 21.],
           [12., 15., 18., 21.]], dtype=float32)
    """
    if not isinstance(spec, str):
        raise TypeError(f"xeinsum: spec must be a text such as 'a{{i}},b{{i}}->ab', got {spec!r}")
    if "->" not in spec:
        raise ValueError(f"xeinsum: spec must say what the result is, as 'a{{i}},b{{i}}->ab' does, got {spec!r}")
    return einsum(spec, *operands)
