"""The operands that calls are tried with: arrays of every dtype, numbers of Python and of NumPy, and weakly typed ones.

Weakly typed arrays with dimensions are left out: they come of broadcasting a number only, and whether a formula keeps
that hangs, in JAX, on whether its constants are written as integers.
"""

import importlib
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from tests.differential.result_types.calls import DISTRIBUTIONS

NARROW = "bool int8 int16 int32 uint8 uint32 float16 bfloat16 float32 complex64"
WIDE = "int64 uint64 float64 complex128"
WEAK = {
    "0-d int weak": ("int32", "int64"),
    "0-d float weak": ("float32", "float64"),
    "0-d complex weak": ("complex64", "complex128"),
}
NUMBERS: dict[str, Any] = {
    "True": True,
    "2": 2,
    ".5": 0.5,
    "1j": 1j,
    "numpy.bool": numpy.bool_(True),
    "numpy.int8": numpy.int8(2),
    "numpy.int64": numpy.int64(2),
    "numpy.uint32": numpy.uint32(2),
    "numpy.float16": numpy.float16(0.5),
    "numpy.float32": numpy.float32(0.5),
    "numpy.float64": numpy.float64(0.5),
    "numpy.array(f64)": numpy.array(0.5),
    "numpy.array(i64)": numpy.array(2),
}
ONE = [*NARROW.split(), "0-d int8", "0-d bfloat16", "0-d float32", *WEAK, *NUMBERS]
# Of functions of two operands: the first, and what stands beside it.
PAIRED = (
    *("bool", "int8", "int32", "uint32", "float16", "bfloat16", "float32", "complex64", "0-d float32"),
    *("0-d float weak", "True", "2", ".5", "1j", "numpy.int8", "numpy.float32", "numpy.float64"),
)
BESIDE = ("int8", "bfloat16", "complex64", "2", ".5")
SHAPES = {"v": (3,), "w": (3,), "m": (3, 3), "t": (2, 3, 4)}
NAMED = re.compile(r"(?<![\w.'])([xyvwmtkB]|key)(?![\w'(])")


def cases(call: str, x64: bool) -> Iterator[dict[str, str]]:
    """What stands for each name in a call: a kind of operand by name."""
    named = set(NAMED.findall(call))
    arrays = NARROW.split() + (WIDE.split() if x64 else [])
    if "y" in named:
        yield from ({"x": kind, "y": other, "v": _array_of(kind)} for kind in PAIRED for other in BESIDE)
    elif "x" in named and named & SHAPES.keys():
        yield from ({"x": kind, "v": other} for kind in ONE for other in ("int32", "bfloat16", "float32"))
        yield from ({"x": ".5", "v": kind} for kind in arrays)
    elif "x" in named:
        yield from ({"x": kind} for kind in ONE)
    elif named & SHAPES.keys() or "v.dtype" in call:
        yield from ({"v": kind} for kind in arrays)
    else:
        yield {}


def _array_of(kind: str) -> str:
    return kind if kind in NARROW.split() else "float32"


def dtype_of(kind: str, x64: bool) -> str:
    """The dtype of a kind of array, weak ones by setting."""
    return WEAK[kind][x64] if kind in WEAK else kind.removeprefix("0-d ")


def contents(shape: tuple[int, ...], dtype: str) -> numpy.ndarray:
    """Numbers from 0 to 2 in any dtype; matrices can be inverted, and are positive definite."""
    size = int(numpy.prod(shape))
    found = (numpy.arange(size) % 3).reshape(shape).astype("float64")
    if shape == SHAPES["m"]:
        found = numpy.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]])
    if dtype == "bfloat16":
        import ml_dtypes

        return found.astype(ml_dtypes.bfloat16)
    return found.astype(dtype)


# --- Results that are of another type than JAX's, on purpose ---
# The second pattern is looked for in the result or in the error.


DIFFERING = [
    (r"linalg|linalg\.|polyfit|roots|orthogonal|gaussian_kde|multivariate_normal|sqrtm|lax\.fft", r"raises TypeError: .*float16", "JAX refuses float16 and bfloat16 where it lowers"),
    (r"linalg\.solve(_triangular)?\(m, k\)", r"^float32", "as the line before: solved in the float of the integers"),
    (r"(solve|solve_triangular|polymul|polyadd|convolve|cross|union1d)\([mv], k\b", r"^float64\[[35]\]( weak)?$", "only whether it is weak where uint64 and int32 meet in a float"),
    (r"boxcox|owens_t|stats\.|Slerp|log1mexp", r"complex", "angles, quantiles and densities of complex numbers mean nothing"),
    (r"stats\.sem", r"^float(32|64)", "so does a complex standard error"),
    (r"arg(max|min)|segment_(max|min)|scatter_(max|min)|lax\.linalg\.[a-z]*\(", r"raises TypeError: .*complex", "complex numbers have no order"),
    (r"random\.(ball|double_sided_maxwell|generalized_normal)", r"^float(32|64)", "random numbers are drawn as floats, whatever the type of a parameter"),
    (r"special\.owens_t", r"^(b?float16|float32)", "the result has the type of the arguments"),
    (r"norm\.(isf|ppf)", r"^(bfloat16|float32)", "so has a quantile: a Python number takes the type of what is beside it"),
    (r"Slerp", r"^float(32|64)", "times are default floats, whose type meets that of the rotations"),
    (r"preferred_element_type", r"raises TypeError", "a result narrower than complex operands loses their imaginary parts"),
    (r"promote_types|can_cast", r"raises TypeError", "types are promoted, not arrays, whose promotion is result_type's"),
    (r"sph_harm_y", r"^complex64", "the angles say how exact it is; in JAX its own constants do"),
    (r"multigammaln", r"^float32", "a dimension is a Python number, which widens nothing"),
    (r"linalg\.pascal|np\.tri\(3\)", r"^float64", "numbers that are made of none are default floats"),
    (r"logaddexp2\.(reduce|accumulate)", r"^float32", "as `logaddexp2` of two elements"),
    (r"polyint", r"^float32", "what is integrated says how wide, not that there is no constant"),
    (r"sparse_plus", r"raises ValueError: .*complex", "complex numbers have no order"),
    (r"cumulative_prod", r"^u?int", "the array API asks for the default integer, as of cumulative_sum"),
    (r"vector_norm", r"^float", "the array API asks for floats"),
    (r"einsum_path", r"str", "the second is a text, as in NumPy"),
    (r"reduceat", r"^bool", "as in NumPy: what is given is the truth"),
    (r"lax\.dynamic_update_index_in_dim\(v, x", r"raises ValueError", "an update of three elements does not fit one index"),
    (r"lax\.fft\(v, 'irfft'", r"raises ValueError", "half a spectrum of three has two elements"),
    (r"lax\.conv_\w*shape_tuple", r"int(32|64)", "sizes are Python numbers"),
    (r"random_gamma_grad|cumlogsumexp|ragged_dot|polyval", r"raises TypeError", "operands of primitives have one type, of the kind that they compute with"),
    (r"qdwh", r"int32\[\]", "a number of steps that is counted is no Python number"),
    (r"np\.poly\(m\)", r"raises ValueError", "the polynomial of a matrix is that of its eigenvalues: numpy.linalg.eigvals"),
    (r"^2 \*\* x", r"^int(32|64)\[\] weak$", "a Python number to the power of one stays one"),
    (r"gumbel_r\.(log)?sf|logistic\.(log)?pdf|special\.loggamma", r"^(float(32|64)|complex(64|128))\[", "only whether it is weak: one formula here is several there"),
    (r"lax\.linalg\.(cholesky|eigh)", r"raises TypeError", "numpy.linalg's functions convert; primitives do not"),
]  # fmt: skip


def reason_for(call: str, got: str) -> str | None:
    """Why a call gives what it gives here, or None."""
    return next((why for pattern, here, why in DIFFERING if re.search(pattern, call) and re.search(here, got)), None)


# --- The type of a call's result in one of the two libraries ---


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
