"""What a program of the corpus is, how one is declared, and the list of all of them.

A program is a function of an `api` (the module `jax` or `tangrad`) and of arrays. Its declaration makes its arguments
from a random generator and says what applies to it: `grad` names the arguments to differentiate, `vmap` whether (and
over which arguments) it may be mapped, `jit=False` that it looks at concrete values.
"""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

Arguments = tuple[Any, ...]
MODES = ("value", "grad", "vmap", "vmap of grad")
BATCH = 3


@dataclass(frozen=True, slots=True)
class Program:
    """One program and what applies to it.

    `slack` multiplies the tolerance; `exact` asks for equal bits; `usual` leaves all but the usual runs, eager on NumPy
    and jitted on XLA, to the long run in mode "value" too.
    """

    name: str
    function: Callable[..., Any]
    draw: Callable[[numpy.random.Generator], Arguments]
    grad: tuple[int, ...] = ()
    vmap: bool | tuple[int | None, ...] = True
    jit: bool = True
    x64: bool = False
    exact: bool = False
    slack: float = 1.0
    usual: bool = False

    def modes(self) -> tuple[str, ...]:
        """The transformations that apply."""
        applies = {"value": True, "grad": bool(self.grad), "vmap": bool(self.vmap)}
        applies["vmap of grad"] = applies["grad"] and applies["vmap"]
        return tuple(mode for mode in MODES if applies[mode])

    def arguments(self, seed: int = 0) -> Arguments:
        """The arguments that a seed gives: NumPy arrays, Python scalars, and trees of them."""
        return self.draw(numpy.random.default_rng(seed))

    def in_axes(self) -> tuple[int | None, ...]:
        """The axis of each argument under vmap."""
        if isinstance(self.vmap, tuple):
            return self.vmap
        return (0,) * len(self.arguments())

    def batched_arguments(self) -> Arguments:
        """Arguments of several seeds stacked along a new axis; what is not mapped is that of the first seed."""
        drawn = [self.arguments(seed) for seed in range(BATCH)]
        return tuple(
            values[0] if axis is None else stack_trees(values, axis)
            for axis, values in zip(self.in_axes(), zip(*drawn, strict=True), strict=True)
        )


def stack_trees(trees: tuple[Any, ...], axis: int) -> Any:
    """Stack trees of equal structure leaf by leaf."""
    first = trees[0]
    if isinstance(first, dict):
        return {key: stack_trees(tuple(tree[key] for tree in trees), axis) for key in first}
    if isinstance(first, (list, tuple)):
        stacked = [stack_trees(branches, axis) for branches in zip(*trees, strict=True)]
        return type(first)(*stacked) if hasattr(first, "_fields") else type(first)(stacked)
    return None if first is None else numpy.stack(trees, axis)


PROGRAMS: dict[str, Program] = {}


def program(draw: Callable[[numpy.random.Generator], Arguments], **declared: Any) -> Callable[..., Any]:
    """Declare the decorated function a program; `declared` are the fields of `Program`."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__
        if name in PROGRAMS:
            raise ValueError(f"two programs are named {name!r}")
        PROGRAMS[name] = Program(name, function, draw, **declared)
        return function

    return declare


def all_programs() -> list[Program]:
    """Every program, after importing every module of `programs`."""
    from . import programs

    for module in pkgutil.iter_modules(programs.__path__):
        importlib.import_module(f"{programs.__name__}.{module.name}")
    return list(PROGRAMS.values())


def normal(random: numpy.random.Generator, *shape: int) -> numpy.ndarray:
    """Standard normal float32 values."""
    return random.normal(size=shape).astype("float32")


def uniform(random: numpy.random.Generator, low: float, high: float, *shape: int) -> numpy.ndarray:
    """Uniform float32 values."""
    return random.uniform(low, high, size=shape).astype("float32")


def integers(random: numpy.random.Generator, low: int, high: int, *shape: int, dtype: str = "int32") -> numpy.ndarray:
    """Uniform integers in [low, high)."""
    return random.integers(low, high, size=shape).astype(dtype)


def complex_normal(random: numpy.random.Generator, *shape: int) -> numpy.ndarray:
    """Complex64 values with standard normal parts."""
    return (normal(random, *shape) + 1j * normal(random, *shape)).astype("complex64")


def positive_definite(random: numpy.random.Generator, size: int) -> numpy.ndarray:
    """A symmetric positive definite float32 matrix, well conditioned."""
    factor = random.normal(size=(size, size))
    return (factor @ factor.T / size + numpy.eye(size)).astype("float32")


# --- Programs that must raise: how one is declared, the list of all of them, and what kind of error came ---
# A failing program is a function of an `api` alone (the module `jax` or `tangrad`). Both must raise an error of one
# kind; `words` are parts of Tangrad's message: what was passed, what was expected, and where.
#
# `jax` says what JAX does where that is an accident of its code rather than a judgement of the program: the kind of
# error that it runs into (several, where its releases differ), or None where it takes no notice and returns something.


# Errors that both packages have under these names.
SHARED = (
    "ConcretizationTypeError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "UnexpectedTracerError",
)


@dataclass(frozen=True, slots=True)
class Failure:
    """A program that must raise, words of the message, and the kind of error ("same": as JAX)."""

    name: str
    function: Callable[[Any], Any]
    words: tuple[str, ...]
    jax: str | tuple[str, ...] | None


FAILURES: dict[str, Failure] = {}


def failing(*words: str, jax: str | tuple[str, ...] | None = "same") -> Callable[..., Any]:
    """Declare the decorated function a failing program."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__
        if name in FAILURES:
            raise ValueError(f"two failing programs are named {name!r}")
        FAILURES[name] = Failure(name, function, words, jax)
        return function

    return declare


def all_failures() -> list[Failure]:
    """Every failing program, after importing every module of `failures`."""
    from . import failures

    for module in pkgutil.iter_modules(failures.__path__):
        importlib.import_module(f"{failures.__name__}.{module.name}")
    return list(FAILURES.values())


def kind_of(error: Exception) -> str:
    """The error that both packages have, or the built-in one that it is."""
    names = [kind.__name__ for kind in type(error).__mro__]
    return next((name for name in names if name in SHARED), None) or next(
        kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"
    )


def text_of(error: Exception) -> str:
    """The message with its notes."""
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


def error_of(api: Any, failure: Failure) -> Exception | None:
    """What the program raises."""
    try:
        failure.function(api)
    except Exception as error:
        return error
    return None
