"""Programs: the straight line of NumPy calls that equations are lowered to, before it becomes text.

Steps work on `Stored` arrays. A `Value`, what a rule handles, is a stored array with a *logical* shape, the one of its
aval. The two differ where a value is the same along some dimensions: it is stored without them, or with size 1;
elementwise steps let NumPy broadcast it, and only what needs every element makes the whole array. So a bias is added as
it is, and a scalar that was broadcast stays a scalar through any number of elementwise steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from tangrad._backend_numpy.functions import UNKNOWN, VIEW, Broadcast, Function
from tangrad._backend_numpy.quiet import run_quietly
from tangrad._backend_numpy.size_text import has_symbolic
from tangrad._backend_numpy.sizes import SizedBroadcast
from tangrad.core import Primitive
from tangrad.core import dtypes as dtype_system

Shape = tuple[Any, ...]  # integers, and dimensions that are known at the call
SMALL_CONSTANT = 64  # bytes: constants up to this size are compared by contents
UNKNOWN_BYTES = 1 << 20  # what an array is taken to have whose size is known at the call only


class Stored:
    """A NumPy array of the program: the result of a step, an argument or a constant.

    Attributes:
        shape, dtype: those of the array.
        constant: the array itself, where it is known while compiling.
    """

    __slots__ = ("constant", "dtype", "shape")

    def __init__(self, shape: Shape, dtype: np.dtype, constant: np.ndarray | None = None) -> None:
        self.shape = shape
        self.dtype = dtype
        self.constant = constant

    @property
    def size(self) -> Any:
        """The number of elements: symbolic, if it is known at the call only."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        size = self.size
        return size * self.dtype.itemsize if type(size) is int else UNKNOWN_BYTES

    def __repr__(self) -> str:
        return f"<{self.dtype.name}{list(self.shape)}{'' if self.constant is None else ' constant'}>"


class Value:
    """What rules handle: a stored array that stands for one of shape `shape`, to which it broadcasts."""

    __slots__ = ("shape", "stored")

    def __init__(self, stored: Stored, shape: Shape) -> None:
        self.stored = stored
        self.shape = shape

    @property
    def dtype(self) -> np.dtype:
        return self.stored.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def constant(self) -> np.ndarray | None:
        """The stored array, where it is known while compiling, else None."""
        return self.stored.constant

    def __repr__(self) -> str:
        return f"<value {list(self.shape)} in {self.stored!r}>"


class Step:
    """One call: `outputs = function(inputs)`.

    Attributes:
        several: whether the function returns a tuple (of `outputs`), or the one output itself.
        effectful: whether it must run even if its results are unused.
        primitive: the primitive that it comes from, for the comments of the text.
    """

    __slots__ = ("effectful", "function", "inputs", "outputs", "primitive", "several")

    def __init__(
        self,
        function: Function,
        inputs: Sequence[Stored],
        outputs: Sequence[Stored],
        several: bool = False,
        effectful: bool = False,
        primitive: Primitive | str | None = None,
    ) -> None:
        self.function = function
        self.inputs = inputs
        self.outputs = outputs
        self.several = several
        self.effectful = effectful
        self.primitive = primitive

    def __repr__(self) -> str:
        return f"<step {self.function!r} of {self.primitive}>"


class Program:
    """Steps under construction. Constants are folded, and equal steps merged, as they are appended.

    Attributes:
        arguments, steps, outputs: of the program; `donated`: the arguments that it may overwrite.
        owned: arguments that are in no other hands: loops hand over what an iteration made for the next one.
        plan: how the variables of symbolic sizes are found at the call; None where all sizes are numbers.
        destinations: results that are to be written into arguments: result -> argument.
        fold_limit: the most bytes that a folded constant may take.
        primitive: the one that is being lowered.
        lowered: for equations that were lowered, what they gave: equal ones are lowered once.
        producers: for each result of a pure step, that step.
        rewrites: functions of the program that lowerings want to have called when all steps are known, in order.
    """

    __slots__ = (
        "_constants",
        "_known",
        "arguments",
        "destinations",
        "donated",
        "fold_limit",
        "lowered",
        "outputs",
        "owned",
        "plan",
        "primitive",
        "producers",
        "rewrites",
        "steps",
    )

    def __init__(self, fold_limit: int) -> None:
        self.fold_limit = fold_limit
        self.arguments: list[Stored] = []
        self.donated: set[Stored] = set()
        self.owned: set[Stored] = set()
        self.destinations: dict[Stored, Stored] = {}
        self.steps: list[Step] = []
        self.outputs: list[Stored] = []
        self.primitive: Primitive | None = None
        self.plan: Any = None
        self.lowered: dict[Hashable, tuple[Value, ...]] = {}
        self.producers: dict[Stored, Step] = {}
        self.rewrites: dict[Callable[[Program], None], None] = {}
        self._constants: dict[Hashable, Stored] = {}
        self._known: dict[Hashable, Stored] = {}

    def argument(self, shape: Shape, dtype: np.dtype) -> Value:
        stored = Stored(shape, dtype)
        self.arguments.append(stored)
        return Value(stored, shape)

    def constant(self, array: np.ndarray) -> Stored:
        """A constant array, which must not be written to any more. Small equal ones are one."""
        if array.nbytes > SMALL_CONSTANT:
            return Stored(array.shape, array.dtype, array)
        key = (array.dtype, array.shape, array.tobytes())
        found = self._constants.get(key)
        if found is None:
            if array.flags.writeable:
                array = array.copy()
                array.flags.writeable = False
            found = self._constants[key] = Stored(array.shape, array.dtype, array)
        return found

    def append(
        self, function: Function, inputs: Sequence[Stored], shape: Shape, dtype: np.dtype, effectful: bool = False
    ) -> Stored:
        """Append a step with one result; or fold it; or find that it is there already."""
        inputs = tuple(inputs)
        if effectful:
            result = Stored(shape, dtype)
            self.steps.append(Step(function, inputs, (result,), False, True, self.primitive))
            return result
        key = None if function.key is None else (function.key, inputs)
        if key is not None:
            found = self._known.get(key)
            if found is not None:
                return found
        folded = self._fold(function, inputs, shape, dtype)
        if folded is None:
            folded = Stored(shape, dtype)
            step = self.producers[folded] = Step(function, inputs, (folded,), False, False, self.primitive)
            self.steps.append(step)
        if key is not None:
            self._known[key] = folded
        return folded

    def append_several(
        self, function: Function, inputs: Sequence[Stored], outputs: Sequence[Stored], effectful: bool = False
    ) -> None:
        """Append a step whose function returns a tuple."""
        self.steps.append(Step(function, tuple(inputs), tuple(outputs), True, effectful, self.primitive))

    def _fold(self, function: Function, inputs: tuple[Stored, ...], shape: Shape, dtype: np.dtype) -> Stored | None:
        """The result as a constant, if all inputs are constants and it is small, or a view of them."""
        if function.nature is UNKNOWN or (self.plan is not None and has_symbolic(shape)):
            return None
        for stored in inputs:
            if stored.constant is None:
                return None
        if not (function.nature is VIEW and inputs) and Stored(shape, dtype).nbytes > self.fold_limit:
            return None
        array = run_quietly(function.direct(shape == ()), *[stored.constant for stored in inputs])
        if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != dtype:
            raise TypeError(f"folding {self.primitive}: expected {dtype.name}{list(shape)}, got {array!r}")
        return self.constant(array)

    def whole(self, value: Value) -> Stored:
        """The array of `value` with all of its elements."""
        stored = value.stored
        if stored.shape == value.shape:
            return stored
        sized = self.plan is not None and has_symbolic((*stored.shape, *value.shape))
        function = SizedBroadcast(value.shape) if sized else Broadcast(stored.shape, value.shape, stored.dtype)
        return self.append(function, (stored,), value.shape, stored.dtype)

    def rewrite(self) -> None:
        """Do what lowerings asked for."""
        for rewrite in self.rewrites:
            rewrite(self)

    def drop_dead_steps(self) -> None:
        """Remove the steps whose results are unused."""
        live = set(self.outputs)
        kept = []
        for step in reversed(self.steps):
            if step.effectful or not live.isdisjoint(step.outputs):
                kept.append(step)
                live.update(step.inputs)
        kept.reverse()
        self.steps = kept


def broadcast_shapes(shapes: Sequence[Shape]) -> Shape:
    """The shape in which arrays meet, as NumPy has it."""
    longest = max(shapes, key=len)
    if all([shape == longest or not shape for shape in shapes]):
        return longest
    if not any([has_symbolic(shape) for shape in shapes]):
        return tuple(np.broadcast_shapes(*shapes))
    padded = [(1,) * (len(longest) - len(shape)) + tuple(shape) for shape in shapes]
    return tuple([_common_size(sizes) for sizes in zip(*padded)])


def _common_size(sizes: Sequence[object]) -> object:
    others = set(sizes) - {1}
    if len(others) > 1:
        raise ValueError(f"arrays of sizes {', '.join(map(str, others))} do not meet in one shape")
    return others.pop() if others else 1


# Bounded by the ufuncs and dtypes that there are.
_result_dtypes: dict[tuple[np.ufunc, tuple[np.dtype, ...]], np.dtype | None] = {}


def ufunc_result_dtype(ufunc: np.ufunc, dtypes: tuple[np.dtype, ...]) -> np.dtype | None:
    """The dtype that a ufunc gives for operands of some dtypes, or None where it does not take them."""
    key = (ufunc, dtypes)
    if key not in _result_dtypes:
        try:
            _result_dtypes[key] = dtype_system.as_dtype(ufunc(*[np.empty(0, dtype) for dtype in dtypes]).dtype)
        except TypeError:
            _result_dtypes[key] = None
    return _result_dtypes[key]
