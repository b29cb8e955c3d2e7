"""What type checkers know of the universal functions: plain functions that have methods as attributes."""

from __future__ import annotations

from typing import Any, Literal, Protocol

from tangrad.core import Array
from tangrad.typing import ArrayLike, Axis, DTypeLike


class Ufunc(Protocol):
    @property
    def __name__(self) -> str: ...
    @property
    def nin(self) -> int: ...
    @property
    def nout(self) -> int: ...
    @property
    def nargs(self) -> int: ...
    @property
    def identity(self) -> Any: ...


class UnaryUfunc(Ufunc, Protocol):
    def __call__(self, x: ArrayLike, /) -> Array: ...
    def at(self, a: ArrayLike, indices: Any, /, *, inplace: Literal[False]) -> Array: ...


class BinaryUfunc(Ufunc, Protocol):
    def __call__(self, x: ArrayLike, y: ArrayLike, /) -> Array: ...
    def reduce(
        self,
        a: ArrayLike,
        axis: Axis = 0,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array: ...
    def accumulate(self, a: ArrayLike, axis: int = 0, dtype: DTypeLike | None = None, out: None = None) -> Array: ...
    def reduceat(
        self, a: ArrayLike, indices: ArrayLike, axis: int = 0, dtype: DTypeLike | None = None, out: None = None
    ) -> Array: ...
    def at(self, a: ArrayLike, indices: Any, b: ArrayLike, /, *, inplace: Literal[False]) -> Array: ...
    def outer(self, A: ArrayLike, B: ArrayLike, /) -> Array: ...
