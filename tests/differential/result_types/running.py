"""The type of a call's result in one of the two libraries: shape, dtype and weak type of each array in it."""

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy

from .calls_libraries import DISTRIBUTIONS
from .operands import NUMBERS, SHAPES, contents, dtype_of

INTEGERS = numpy.array([0, 2, 1], "int32")
CHOSEN = numpy.array([True, False, True])
MODULES = {"np": "numpy", "lax": "lax", "nn": "nn", "sp": "scipy", "random": "random", "ops": "ops", "image": "image"}
# Modules below these that importing `scipy` alone does not bring.
BELOW = (
    "cluster.vq fft integrate interpolate linalg ndimage optimize signal sparse.linalg spatial.transform special stats"
)
DEEPER = [f"scipy.{name}" for name in BELOW.split()] + ["lax.linalg", "nn.initializers", "numpy.linalg", "numpy.fft"]


def library(api: Any) -> "Library":
    """JAX or Tangrad with its modules."""
    for name in [*DEEPER, *[f"scipy.stats.{name}" for name in DISTRIBUTIONS]]:
        importlib.import_module(f"{api.__name__}.{name}")
    return Library(api, {short: importlib.import_module(f"{api.__name__}.{name}") for short, name in MODULES.items()})


class Library:
    """JAX or Tangrad: evaluates calls."""

    def __init__(self, api: Any, modules: dict[str, Any]) -> None:
        self.api = api
        self.names = {**modules, "jax": api, "numpy": numpy}
        self.np = modules["np"]

    def traced(self, call: str, case: dict[str, str], x64: bool) -> Any:
        """The type of the result while a function of the arrays is traced; numbers are closed over."""
        arrays, closed = {}, {}
        for name, kind in operands(case):
            if kind in NUMBERS:
                closed[name] = NUMBERS[kind]
            else:
                shape = () if kind.startswith("0-d ") else SHAPES.get(name, (3,))
                dtype, weak = dtype_of(kind, x64), kind.endswith("weak")
                arrays[name] = self.api.ShapeDtypeStruct(shape, self.np.dtype(dtype), weak_type=weak)
        code = compiled(call)
        kept: list[Any] = []

        def function(given: dict[str, Any]) -> Any:
            result = self.evaluate(code, {**closed, **given})
            kept.append(self.described(result))
            return ()

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.api.eval_shape(function, arrays)
        return kept[-1]

    def eager(self, call: str, case: dict[str, str], x64: bool) -> Any:
        """The type of the result of the call itself."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.described(
                self.evaluate(compiled(call), {name: self.made(name, kind, x64) for name, kind in operands(case)})
            )

    def made(self, name: str, kind: str, x64: bool) -> Any:
        """An array of a kind, or the number that it names."""
        if kind in NUMBERS:
            return NUMBERS[kind]
        shape = () if kind.startswith("0-d ") else SHAPES.get(name, (3,))
        dtype = dtype_of(kind, x64)
        if not kind.endswith("weak"):
            return self.np.asarray(contents(shape, dtype))
        return self.np.broadcast_to(self.np.asarray(contents((), dtype).item()), shape)

    def described(self, value: Any) -> Any:
        """As `described`; what a function handed through as it was given is what it stands for."""
        if isinstance(value, (list, tuple)):
            return [self.described(part) for part in value]
        numbers = (bool, int, float, complex, numpy.ndarray, numpy.generic)
        return described(self.np.asarray(value) if isinstance(value, numbers) else value)

    def evaluate(self, code: Any, given: dict[str, Any]) -> Any:
        """The value of the call."""
        constants = {"k": self.np.asarray(INTEGERS), "B": self.np.asarray(CHOSEN)}
        if "key" in code.co_names:
            constants["key"] = self.names["random"].key(0)
        return eval(code, {**self.names, **constants, **given})


_compiled: dict[str, Any] = {}


def compiled(call: str) -> Any:
    """The call as code."""
    if call not in _compiled:
        _compiled[call] = compile(call, call, "eval")
    return _compiled[call]


def operands(case: dict[str, str]) -> list[tuple[str, str]]:
    """The operands by name; w, m and t are as v."""
    found = {name: kind for name, kind in case.items() if name in ("x", "y")}
    if "v" in case:
        found |= dict.fromkeys(SHAPES, case["v"])
    return list(found.items())


def described(value: Any) -> Any:
    """Arrays, and numbers that stand for them, as text, containers by their parts, other things by their type."""
    if hasattr(value, "aval"):
        aval = value.aval
        # A boolean is never narrowed by what it meets, so it does not matter whether it may be.
        return f"{aval.dtype}{list(aval.shape)}{' weak' if aval.weak_type and aval.dtype != bool else ''}"
    if isinstance(value, (list, tuple)):
        return [described(part) for part in value]
    return str(value) if isinstance(value, numpy.dtype) else type(value).__name__


def outcome(function: Callable[..., Any], *args: Any) -> str:
    """What a call gives, or its error."""
    try:
        return str(function(*args))
    except Exception as error:
        return f"raises {type(error).__name__}: {str(error)[:200]}"
