"""`scan` and `fori_loop` as in `tangrad.lax`, while a bar of tqdm shows how far they are.

The program calls the bar by an effect, `tangrad.debug.callback`, of which every transformation knows: what is counted
is the same for all mapped examples, so it stays one call a step; a derivative sees the forward loop.
"""

from __future__ import annotations

import threading
from operator import index
from typing import TYPE_CHECKING, Any, SupportsInt, TypeVar

import tqdm

import tangrad
from tangrad import lax
from tangrad.core import as_operand

if TYPE_CHECKING:
    from collections.abc import Callable

    from tangrad.core import Array
    from tangrad.typing import PyTree

C = TypeVar("C")
Y = TypeVar("Y")

__all__ = ["fori_loop", "scan"]


class Bar:
    """The bar of one loop of a program: a new one on the screen for each run, moved from the thread that runs it."""

    def __init__(self, total: int, every: int | None, options: dict[str, Any]) -> None:
        self.total, self.options = total, options
        self.every = max(total // 100, 1) if every is None else index(every)
        if self.every < 1:
            raise ValueError(f"every must be a positive number of steps, got {every}")
        self._shown: tqdm.tqdm | None = None
        self._lock = threading.Lock()

    def show(self, so_far: SupportsInt) -> None:
        """That so many steps are done."""
        done = int(so_far)
        with self._lock:
            if self._shown is None or done <= self._shown.n:  # a run has begun; of the last one there may be a rest
                self._close()
                self._shown = tqdm.tqdm(total=self.total, **self.options)
            self._shown.update(done - self._shown.n)
            if done == self.total:
                self._close()

    def _close(self) -> None:
        if self._shown is not None:
            self._shown.close()
            self._shown = None

    def after(self, done: Array) -> None:
        """Within a program: show, every so many steps and at the last one, that `done` are done."""
        wanted = (done % self.every == 0) | (done == self.total)
        lax.cond(wanted, lambda done: tangrad.debug.callback(self.show, done), lambda done: None, done)


def scan(
    f: Callable[[C, PyTree], tuple[C, Y]],
    init: C,
    xs: PyTree = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    *,
    every: int | None = None,
    **options: Any,
) -> tuple[C, Y]:
    """`tangrad.lax.scan` with a progress bar.

    Args:
        f, init, xs, length, reverse, unroll: as of `tangrad.lax.scan`.
        every: how many steps go by between two moves of the bar; None: a hundredth of all.
        options: of `tqdm.tqdm`: desc, file, disable, ...

    Returns:
        the last carry and the stacked results.
    """
    leaves = tangrad.tree.leaves(xs)
    shapes = [getattr(leaf, "shape", ()) for leaf in leaves]
    total = length if length is not None else shapes[0][0] if shapes and shapes[0] else None
    if not total:  # no steps, no bar; lax reports what is wrong
        return lax.scan(f, init, xs, length, reverse, unroll)
    bar = Bar(index(total), every, options)

    def step(carry: tuple[Array, C], x: PyTree) -> tuple[tuple[Array, C], Y]:
        done, inner = carry
        inner, y = f(inner, x)
        done = done + 1
        bar.after(done)
        return (done, inner), y

    (_, last), ys = lax.scan(step, (as_operand(0), init), xs, length, reverse, unroll)
    return last, ys


def fori_loop(
    lower: int,
    upper: int,
    body_fun: Callable[[Array, C], C],
    init_val: C,
    *,
    every: int | None = None,
    **options: Any,
) -> C:
    """`tangrad.lax.fori_loop` with a progress bar; the bounds are known numbers.

    Args:
        lower, upper, body_fun, init_val: as of `tangrad.lax.fori_loop`.
        every, options: as of `scan`.

    Raises:
        TypeError: for bounds that are traced, or no integers.
    """
    lower, upper = index(lower), index(upper)
    if upper <= lower:
        return lax.fori_loop(lower, upper, body_fun, init_val)
    bar = Bar(upper - lower, every, options)

    def body(number: Array, value: C) -> C:
        value = body_fun(number, value)
        bar.after(number - (lower - 1))
        return value

    return lax.fori_loop(lower, upper, body, init_val)
