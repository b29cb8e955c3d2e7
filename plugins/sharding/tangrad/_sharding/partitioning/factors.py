"""Sharding rules: which dimensions of operands and results belong together, as in einsum, in Shardy's words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from tangrad.core import class_boundary

BATCHING = "…"
_WORD = re.compile(r"\s*(\.\.\.\d*|…\d*|[(),]|[^\W\d_]\w*)")
_FACTOR = re.compile(r"[^\W\d_]\w*")


@class_boundary
class CompoundFactor(tuple[str, ...]):
    """Several factors that make one dimension together, the slowest varying first.

    Raises ValueError for fewer than two, TypeError for what is no name.

    >>> from tangrad.experimental.custom_partitioning import CompoundFactor
    >>> CompoundFactor("heads", "width")
    CompoundFactor('heads', 'width')
    """

    __slots__ = ()

    def __new__(cls, *factors: str) -> CompoundFactor:
        if len(factors) < 2:
            raise ValueError(f"CompoundFactor is made of at least two factors, got {factors}; one stands by itself")
        for factor in factors:
            _check_name(factor, "CompoundFactor")
        return super().__new__(cls, factors)

    def __repr__(self) -> str:
        return f"CompoundFactor{tuple(self)}"


@class_boundary
class ArrayMapping(tuple[Any, ...]):
    """The factors of one operand or result, dimension by dimension.

    Args:
        dimensions: for each dimension the name of a factor or a `CompoundFactor`; the first may be `BATCHING`, alone or
            with a number after it, which stands for any number of dimensions.

    Raises ValueError for `BATCHING` elsewhere, TypeError for what is neither.

    >>> from tangrad.experimental.custom_partitioning import BATCHING, ArrayMapping
    >>> ArrayMapping(BATCHING, "i", "j")
    ArrayMapping('…', 'i', 'j')
    """

    __slots__ = ()

    def __new__(cls, *dimensions: str | CompoundFactor) -> ArrayMapping:
        for position, dimension in enumerate(dimensions):
            if _is_batching(dimension):
                if position:
                    raise ValueError(f"ArrayMapping: BATCHING stands at the beginning, got {dimensions}")
            elif not isinstance(dimension, CompoundFactor):
                _check_name(dimension, "ArrayMapping")
        return super().__new__(cls, dimensions)

    def __repr__(self) -> str:
        return f"ArrayMapping{tuple(self)}" if len(self) != 1 else f"ArrayMapping({self[0]!r})"


def _is_batching(dimension: object) -> bool:
    return (
        isinstance(dimension, str)
        and dimension.startswith(BATCHING)
        and dimension[1:].isdigit() >= (len(dimension) > 1)
    )


def _check_name(factor: object, what: str) -> None:
    if not isinstance(factor, str):
        raise TypeError(f"{what} takes names of factors, got {factor!r} of type {type(factor).__name__}")
    if not _FACTOR.fullmatch(factor):
        raise ValueError(f"{what}: a factor's name is a letter, then letters, digits and underscores; got {factor!r}")


@class_boundary
class SdyShardingRule:
    """Which dimensions of the operands and results of an operation belong together.

    Along a factor that operands and results share, parts of operands give parts of results, unless it is named below.

    Args:
        operand_mappings, result_mappings: an `ArrayMapping` for each.
        reduction_factors: those along which operands are summed up, which no result has.
        need_replication_factors: those along which nothing may be cut.
        permutation_factors: those along which parts are exchanged if they are cut.
        factor_sizes: the sizes of factors that are nowhere a whole dimension.

    Raises ValueError for factors that are in no mapping, in two of these tuples, or with a size missing or not needed.

    >>> from tangrad.experimental.custom_partitioning import ArrayMapping, SdyShardingRule
    >>> SdyShardingRule((ArrayMapping("i", "k"), ArrayMapping("k", "j")), (ArrayMapping("i", "j"),),
    ...                 reduction_factors=("k",))
    SdyShardingRule(i k, k j -> i j, reduction_factors=('k',))
    """

    KINDS = ("reduction_factors", "need_replication_factors", "permutation_factors")

    def __init__(
        self,
        operand_mappings: Sequence[Sequence[str | CompoundFactor]],
        result_mappings: Sequence[Sequence[str | CompoundFactor]],
        *,
        reduction_factors: Sequence[str] = (),
        need_replication_factors: Sequence[str] = (),
        permutation_factors: Sequence[str] = (),
        **factor_sizes: int,
    ) -> None:
        self.operand_mappings = tuple([ArrayMapping(*mapping) for mapping in operand_mappings])
        self.result_mappings = tuple([ArrayMapping(*mapping) for mapping in result_mappings])
        self.reduction_factors = tuple(reduction_factors)
        self.need_replication_factors = tuple(need_replication_factors)
        self.permutation_factors = tuple(permutation_factors)
        self.factor_sizes = dict(factor_sizes)
        self._check()

    @property
    def _dimensions(self) -> Iterator[str | CompoundFactor]:
        for mapping in (*self.operand_mappings, *self.result_mappings):
            yield from mapping

    def _check(self) -> None:
        whole = {dimension for dimension in self._dimensions if not isinstance(dimension, CompoundFactor)}
        parts = {
            factor for dimension in self._dimensions if isinstance(dimension, CompoundFactor) for factor in dimension
        }
        for factor in self.factor_sizes:
            if factor not in whole | parts:
                raise ValueError(f"SdyShardingRule: the size of {factor!r} is given, and no mapping has that factor")
            if factor in whole:
                raise ValueError(f"SdyShardingRule: {factor!r} is a whole dimension, so leave out its size")
        for factor in sorted(parts - whole - set(self.factor_sizes)):
            raise ValueError(f"SdyShardingRule: {factor!r} is nowhere a whole dimension; give its size: {factor}=...")
        named: set[str] = set()
        for kind in self.KINDS:
            for factor in getattr(self, kind):
                if factor not in whole | parts:
                    raise ValueError(f"SdyShardingRule: {kind} has {factor!r}, and no mapping has that factor")
                if factor in named:
                    raise ValueError(f"SdyShardingRule: {factor!r} is named twice among {', '.join(self.KINDS)}")
                named.add(factor)

    def __repr__(self) -> str:
        sides = [", ".join([_shown(mapping) for mapping in side]) for side in self.mappings]
        more = [f", {kind}={getattr(self, kind)}" for kind in self.KINDS if getattr(self, kind)]
        sizes = [f", {name}={size}" for name, size in self.factor_sizes.items()]
        return f"SdyShardingRule({sides[0]} -> {sides[1]}{''.join([*more, *sizes])})"

    @property
    def mappings(self) -> tuple[tuple[ArrayMapping, ...], tuple[ArrayMapping, ...]]:
        """Those of the operands, and those of the results."""
        return self.operand_mappings, self.result_mappings

    def text(self, operands: Sequence[tuple[int, ...]], results: Sequence[tuple[int, ...]]) -> str:
        """The rule for operands and results of these shapes, in the syntax of MLIR's attribute.

        Raises ValueError where it does not fit them.
        """
        sizes = _Sizes(self.factor_sizes)
        sides = []
        for name, mappings, shapes in (
            ("operand", self.operand_mappings, operands),
            ("result", self.result_mappings, results),
        ):
            if len(mappings) != len(shapes):
                raise ValueError(f"{self} is for {len(mappings)} {name}s, and the function has {len(shapes)}")
            sides.append([sizes.dimensions(f"{name} {i}", *pair) for i, pair in enumerate(zip(mappings, shapes))])
        sizes.check_compounds()
        symbols = {factor: _symbol(number) for number, factor in enumerate(sizes.found)}
        tensors = [[_tensor(dimensions, symbols) for dimensions in side] for side in sides]
        listed = ", ".join([f"{symbols[factor]}={size}" for factor, size in sizes.found.items()])
        kinds = [
            f" {kind.removesuffix('_factors')}={{{', '.join([symbols[factor] for factor in getattr(self, kind)])}}}"
            for kind in self.KINDS
            if getattr(self, kind)
        ]
        return f"({', '.join(tensors[0])})->({', '.join(tensors[1])}) {{{listed}}}{''.join(kinds)}, custom"


class _Sizes:
    """The factors of a rule for certain shapes, in the order in which they are met, with their sizes."""

    def __init__(self, given: dict[str, int]) -> None:
        self.found: dict[str, int] = {}
        self._given = given
        self._batches: dict[str, int] = {}
        self._compounds: list[tuple[str, tuple[str, ...], int]] = []

    def dimensions(self, what: str, mapping: ArrayMapping, shape: tuple[int, ...]) -> list[tuple[str, ...]]:
        """For each dimension of an array its factors."""
        named = tuple(mapping)
        leading: list[tuple[str, ...]] = []
        if named and _is_batching(named[0]):
            group, named = named[0][1:] or "0", named[1:]
            count = len(shape) - len(named)
            if count >= 0 and self._batches.setdefault(group, count) != count:
                raise ValueError(
                    f"{what}: BATCHING stands for {count} dimensions here, elsewhere for {self._batches[group]}"
                )
            leading = [(f"{BATCHING}{group}_{number}",) for number in range(count)]
        factors = [*leading, *[tuple(one) if isinstance(one, CompoundFactor) else (one,) for one in named]]
        if len(factors) != len(shape):
            raise ValueError(f"{what} has the shape {shape}, and the rule has {_shown(mapping)!r} for it")
        for names, size in zip(factors, shape, strict=True):
            self._meet(what, names, size)
        return factors

    def _meet(self, what: str, names: tuple[str, ...], size: int) -> None:
        if len(names) == 1:
            (name,) = names
            before = self.found.get(name, size)
            if before != size and name.startswith(BATCHING):
                raise ValueError(f"{what}: a dimension of BATCHING has the size {size} here, elsewhere {before}")
            self.found[name] = min(before, size)
        else:
            self._compounds.append((what, names, size))

    def check_compounds(self) -> None:
        """When all whole dimensions are known: whether those of several factors are the products of them."""
        self.found |= self._given
        for what, names, size in self._compounds:
            if prod([self.found[name] for name in names]) != size:
                listed = ", ".join([f"{name}={self.found[name]}" for name in names])
                raise ValueError(f"{what}: a dimension of size {size} cannot be made of {listed}")


def _symbol(number: int) -> str:
    """The word for a factor that MLIR's reader takes: i to z, then z_1, z_2 and so on."""
    return chr(ord("i") + number) if number < 18 else f"z_{number - 17}"


def _tensor(dimensions: list[tuple[str, ...]], symbols: dict[str, str]) -> str:
    return f"[{', '.join([''.join([symbols[factor] for factor in names]) for names in dimensions])}]"


def _shown(mapping: ArrayMapping) -> str:
    return " ".join([f"({' '.join(one)})" if isinstance(one, CompoundFactor) else one for one in mapping])


# --- rules as text ---


def rule_of_text(text: str, **options: Any) -> SdyShardingRule:
    """The rule that a text such as `"... i k, k j -> ... i j"` is. Raises ValueError for what is none."""
    sides = text.split("->")
    if len(sides) != 2:
        raise ValueError(f"sharding_rule must have one '->' between operands and results, got {text!r}")
    operands, results = [[_mapping(part, text) for part in side.split(",")] for side in sides]
    return SdyShardingRule(operands, results, **options)


def _mapping(part: str, text: str) -> ArrayMapping:
    dimensions: list[str | CompoundFactor] = []
    inner: list[str] | None = None
    for word in _words(part, text):
        if word == "(":
            if inner is not None:
                raise ValueError(f"sharding_rule {text!r}: brackets within brackets in {part.strip()!r}")
            inner = []
        elif word == ")":
            if inner is None:
                raise ValueError(f"sharding_rule {text!r}: a bracket is closed that is not open in {part.strip()!r}")
            dimensions.append(CompoundFactor(*inner))
            inner = None
        else:
            (dimensions if inner is None else inner).append(word.replace("...", BATCHING))
    if inner is not None:
        raise ValueError(f"sharding_rule {text!r}: a bracket is not closed in {part.strip()!r}")
    return ArrayMapping(*dimensions)


def _words(part: str, text: str) -> Iterator[str]:
    position, part = 0, part.rstrip()
    while position < len(part):
        found = _WORD.match(part, position)
        if found is None:
            raise ValueError(
                f"sharding_rule {text!r}: {part[position:].strip()!r} begins with no factor, bracket or '...'"
            )
        yield found.group(1)
        position = found.end()
