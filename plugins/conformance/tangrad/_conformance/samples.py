"""Samples: arguments and parameters to try a primitive with, and what the results are where a reference gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

import tangrad
from tangrad.core import Primitive, RuleTrace, Trace, as_operand, backend_names, dtypes, get_aval, run_traced

if TYPE_CHECKING:
    from tangrad.core import Array, ShapedArray
    from tangrad.typing import DTypeLike, Params, Value


Arguments = tuple[Any, ...]


def _as_they_are(*args: object) -> Arguments:
    return args


def _unchanged(result: object) -> object:
    return result


@dataclass(frozen=True, eq=False)
class Sample:
    """One way to apply a primitive.

    Attributes:
        primitive: the primitive.
        args: NumPy arrays.
        params: the primitive's parameters.
        derivatives: how many times it is differentiated at this point: 0, 1 or 2.
        tolerance: relative and absolute, between backends and between ways to run; None: by dtype.
        without: names of checks that do not apply, each with the reason.
        enter: `(*args) -> operands`, for operands that NumPy has no arrays for; it may be traced.
        leave: `result -> arrays`, likewise.
        backends: names of the backends that it is tried on; None: all that are installed.
        strategy: the Hypothesis strategy that drew it, or None.
        observe: for a primitive with effects that take place when a program runs: `() -> what has taken place`, a list
            of arrays, or of tuples of arrays, in the order in which it did, since it was last called.
        axes: names and sizes of mapped axes that the primitive is applied under, the outermost first; the arguments
            have them in front, and so have the results.
        reference: `(*args, **params) -> result`, or a tuple of results: what is right, by NumPy. It gets arrays of
            higher precision than the sample's, and objects that are Python's integers in place of integers; what it
            returns is rounded to the dtype of the primitive's result, integers wrap around.
        raises: the error, or a tuple of errors, with which the abstract evaluation must refuse these arguments and
            parameters; nothing else is checked then.

    >>> import tangrad
    >>> from tangrad.conformance import Sample, draw
    >>> from tangrad.core import find_primitive
    >>> Sample(find_primitive("elementwise.sin"), (draw(2, 3),)).describe()
    'sin(float32[2,3])'
    """

    primitive: Primitive
    args: Arguments
    params: Mapping[str, Any] = field(default_factory=dict)
    derivatives: int = 2
    tolerance: float | None = None
    without: Mapping[str, str] = field(default_factory=dict)
    enter: Callable[..., Arguments] = _as_they_are
    leave: Callable[[Any], Any] = _unchanged
    backends: tuple[str, ...] | None = None
    axes: Mapping[Any, int] = field(default_factory=dict)
    strategy: object = None
    reference: Callable[..., Any] | None = None
    observe: Callable[[], Sequence[Any]] | None = None
    raises: type[Exception] | tuple[type[Exception], ...] | None = None

    def operands(self, *args: object) -> Arguments:
        """What the primitive is applied to."""
        return tuple([as_operand(arg) for arg in self.enter(*args)])

    def apply(self, *args: object) -> tuple[Array, ...]:
        """The primitive applied to other arguments than the sample's, its results as a tuple of arrays."""
        return self.around(self.apply_one)(*args)

    def apply_one(self, *args: object) -> tuple[Value, ...]:
        """As `apply`, of one example: within the axes."""
        result = self.primitive.bind(*self.operands(*args), **self.params)
        return self.results(result)

    def around(self, function: Callable[..., object]) -> Callable[..., Any]:
        """The function of one example, mapped over the axes."""
        for name, size in reversed(list(self.axes.items())):
            function = tangrad.vmap(function, axis_name=name, axis_size=size)
        return function

    def example(self) -> Arguments:
        """The arguments of the first example."""
        return tuple([np.asarray(arg)[(0,) * len(self.axes)] for arg in self.args])

    def tried_on(self) -> tuple[str, ...]:
        """The backends it is tried on."""
        return tuple([name for name in backend_names() if self.backends is None or name in self.backends])

    def results(self, result: Value | Sequence[Value]) -> tuple[Value, ...]:
        """What the primitive returned, as a tuple of arrays."""
        results = tuple(result) if self.primitive.multiple_results else (result,)
        return tuple([self.leave(one) for one in results])

    def inferred(self) -> tuple[ShapedArray, ...]:
        """The types of the results, by the abstract evaluation; raises what that raises."""
        operands = tuple([get_aval(value) for value in self.operands(*self.args)])
        out = self.primitive.infer(operands, dict(self.params))
        return tuple(out) if self.primitive.multiple_results else (out,)

    def size(self) -> int:
        """How many elements the arguments have: the smallest failing sample is shown."""
        return sum([np.size(arg) for arg in self.args])

    def describe(self) -> str:
        """The primitive with the types of its arguments."""
        types = [f"{np.asarray(arg).dtype.name}[{','.join(map(str, np.shape(arg)))}]" for arg in self.args]
        params = [f"{name}={_short(value)}" for name, value in self.params.items()]
        return f"{self.primitive.name}({', '.join(types + params)})"


def _short(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def draw(
    *shape: int, dtype: DTypeLike = np.float32, low: float | None = None, high: float | None = None, seed: int = 0
) -> np.ndarray:
    """Elements of any dtype, the same for the same seed: of a normal distribution, or uniform from `low` to `high`.

    >>> from tangrad.conformance import draw
    >>> draw(2, dtype="int32").dtype
    dtype('int32')
    """
    rng, kind = np.random.default_rng([seed, *shape]), dtypes.as_dtype(dtype)
    if kind == np.bool_:
        return np.asarray(rng.integers(0, 2, shape), bool)
    if dtypes.issubdtype(kind, np.integer):
        least = 0 if dtypes.issubdtype(kind, np.unsignedinteger) else -4
        return np.asarray(
            rng.integers(least if low is None else int(low), 7 if high is None else int(high), shape), kind
        )
    if dtypes.issubdtype(kind, np.complexfloating):
        return np.asarray(_reals(rng, shape, low, high) + 1j * _reals(rng, shape, low, high), kind)
    return np.asarray(_reals(rng, shape, low, high), kind)


def _reals(rng: np.random.Generator, shape: tuple[int, ...], low: float | None, high: float | None) -> np.ndarray:
    return rng.normal(size=shape) if low is None or high is None else rng.uniform(low, high, shape)


def reference_backend() -> str:
    """The backend that derivatives and batching are checked on: NumPy's where there is one: it compiles nothing."""
    names = backend_names()
    return "numpy" if "numpy" in names else names[0]


def over(kinds: Iterable[object], make: Callable[[Any], Sample]) -> list[Sample]:
    """`make(dtype)` for each dtype.

    >>> from tangrad.conformance import Sample, draw, over
    >>> from tangrad.core import find_primitive
    >>> sin = find_primitive("elementwise.sin")
    >>> len(over(["float32", "complex64"], lambda dtype: Sample(sin, (draw(3, dtype=dtype),))))
    2
    """
    return [make(kind) for kind in kinds]


class _Recorder(RuleTrace):
    """Hands everything to the trace below, and keeps how one primitive is applied."""

    __slots__ = ("calls", "primitive")

    def __init__(self, parent: Trace, primitive: Primitive) -> None:
        super().__init__(parent)
        self.primitive = primitive
        self.calls: list[tuple[Arguments, dict[str, object]]] = []

    def process_primitive(self, primitive: Primitive, args: Arguments, params: Params) -> tuple[Array]:
        if primitive is self.primitive:
            self.calls.append((args, dict(params)))
        return self.pass_on(primitive, args, params)


def recorded(primitive: Primitive, function: Callable[..., object]) -> tuple[Arguments, Params]:
    """The operands and parameters that a function applies a primitive to. Raises LookupError where it does not.

    >>> import tangrad
    >>> from tangrad.conformance import draw, recorded
    >>> from tangrad.core import find_primitive
    >>> _, params = recorded(find_primitive("structure.rev"), lambda: tangrad.lax.rev(draw(2), (0,)))
    >>> params
    {'dimensions': (0,)}
    """

    def calls(recorder: _Recorder) -> list[tuple[Arguments, Params]]:
        function()
        return recorder.calls

    found = run_traced(calls, _Recorder, primitive)
    if not found:
        raise LookupError(f"the function does not apply {primitive.identity}")
    return found[0]


HIGHER = {
    "float16": np.float64,
    "bfloat16": np.float64,
    "float32": np.float64,
    "float64": np.longdouble,
    "complex64": np.complex128,
    "complex128": np.clongdouble,
}


def truth_of(sample: Sample, like: Sequence[np.ndarray]) -> list[np.ndarray] | None:
    """The results of the sample's reference, in the dtypes of other results; None where there is none."""
    if sample.reference is None:
        return None
    args = [higher(np.asarray(arg)) for arg in sample.args]
    with np.errstate(all="ignore"):
        found = sample.reference(*args, **sample.params)
        results = tuple(found) if sample.primitive.multiple_results else (found,)
        return [lower(one, other.dtype) for one, other in zip(results, like, strict=True)]


def higher(array: np.ndarray) -> np.ndarray:
    """The same numbers in a wider dtype: Python's integers, of any size, in place of integers."""
    if array.dtype == np.bool_:
        return array
    if dtypes.issubdtype(array.dtype, np.integer):
        return array.astype(np.int64 if array.dtype.kind not in "iu" else array.dtype).astype(object)
    wide = HIGHER.get(array.dtype.name)
    return array if wide is None else array.astype(wide)


def lower(values: object, dtype: np.dtype) -> np.ndarray:
    """Numbers rounded to a dtype; integers wrap around."""
    array = np.asarray(values)
    if not dtypes.issubdtype(dtype, np.integer) or array.dtype != object:
        return array.astype(dtype)
    bits = 8 * dtype.itemsize
    wrapped = [int(value) & ((1 << bits) - 1) for value in array.reshape(-1)]
    unsigned = np.array(wrapped, f"uint{bits}").reshape(array.shape)
    return unsigned.view(dtype)


class Stated(Protocol):
    """What a definition states (`tangrad.extend.lax.Definition`), as far as samples are made of it."""

    @property
    def name(self) -> str: ...
    @property
    def arguments(self) -> Sequence[str]: ...
    @property
    def complex_too(self) -> bool: ...
    @property
    def smooth(self) -> tuple[float, float] | None: ...
    @property
    def formula(self) -> Callable[..., object] | None: ...
    @property
    def primitive(self) -> Primitive | None: ...


def samples_of(definition: Stated) -> list[Sample]:
    """The samples of a primitive that are made of what was stated of it: numbers that it takes, and integers.

    They hold it against its formula, where one was stated, against its decomposition and the other backends.
    Raises ValueError for a definition that is no primitive.
    """
    primitive, operands, formula = definition.primitive, len(definition.arguments), definition.formula
    if primitive is None:
        raise ValueError(f"{definition.name} is no primitive: only primitives have samples")
    found = smooth_samples(primitive, definition.smooth, complex_too=definition.complex_too, operands=operands)
    reference = None if formula is None else partial(formula, np)
    integers = Sample(primitive, (draw(3, dtype="int32"),) * operands, raises=TypeError)
    return [*[replace(sample, reference=reference) for sample in found], integers]


def smooth_samples(
    primitive: Primitive, interval: tuple[float, float] | None, *, complex_too: bool, operands: int = 1
) -> list[Sample]:
    """Samples of an elementwise primitive with numbers from an interval; None: from a normal distribution."""
    low, high = interval or (None, None)

    def sample(*shape: int, dtype: str, tolerance: float | None = None) -> Sample:
        args = [draw(*shape, dtype=dtype, low=low, high=high, seed=seed) for seed in range(operands)]
        return Sample(primitive, tuple(args), tolerance=tolerance)

    complexes = [sample(3, dtype="complex64", tolerance=1e-4)] if complex_too else []
    return [sample(2, 3, dtype="float32"), *complexes, sample(4, dtype="bfloat16")]
