"""From equations to steps: the context that rules get, and the walk over jaxprs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_numpy.array import NumpyArray, physical
from tangrad._backend_numpy.functions import (
    ELEMENTWISE,
    UNKNOWN,
    VIEW,
    Cast,
    Function,
    Index,
    Method,
    Opaque,
    Part,
    Reduction,
    Ufunc,
    function_of,
)
from tangrad._backend_numpy.kernels import Kernel
from tangrad._backend_numpy.program import Program, Shape, Stored, Value, broadcast_shapes, ufunc_result_dtype
from tangrad._backend_numpy.select import selection
from tangrad._backend_numpy.sizes import equation_at_sizes
from tangrad._backend_numpy.totals import reduction
from tangrad.core import (
    Array,
    ClosedJaxpr,
    Literal,
    Primitive,
    ShapedArray,
    Var,
    calls_rules,
    dtypes,
    keeps_alive,
    rule_table,
)
from tangrad.core.caches import params_key

if TYPE_CHECKING:
    from tangrad.core import Effect
    from tangrad.typing import ArrayLike, DTypeLike, Params


KIND = "lower.numpy"
_rules = rule_table(KIND)
_WIDER = {"f": np.dtype("float32"), "i": np.dtype("int32"), "u": np.dtype("uint32")}


class Lowering:
    """What a rule gets: the types of one equation, and the means to append steps. Each ufunc of NumPy is a method.

    Attributes:
        primitive: the primitive that is lowered.
        in_avals, out_avals: the types of its operands and results; `out_aval`: of the only one.
    """

    __slots__ = ("effectful", "in_avals", "out_avals", "primitive", "program")

    def __init__(
        self,
        program: Program,
        primitive: Primitive,
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
        effectful: bool,
    ) -> None:
        self.program = program
        self.primitive = primitive
        self.in_avals = tuple(in_avals)
        self.out_avals = tuple(out_avals)
        self.effectful = effectful

    @property
    def out_aval(self) -> ShapedArray:
        (aval,) = self.out_avals
        return aval

    def __getattr__(self, name: str) -> Callable[..., Value]:
        found = getattr(np, name, None)
        if isinstance(found, np.ufunc):
            return partial(self.ufunc, found)
        raise AttributeError(f"a lowering context has no method {name!r}, and NumPy no ufunc of that name")

    # --- values ---

    def constant(self, value: object, dtype: np.dtype | None = None) -> Value:
        """A constant: a NumPy array, or a number of dtype `dtype`."""
        array = np.asarray(value, dtype)
        return Value(self.program.constant(array), array.shape)

    def full(self, shape: Shape, value: ArrayLike, dtype: np.dtype) -> Value:
        """The same number everywhere; it takes no memory until all elements are needed."""
        return Value(self.constant(value, dtype).stored, shape)

    def value(self, operand: object, dtype: np.dtype | None) -> Value:
        """`operand` as a value; a Python number as a constant of dtype `dtype`."""
        if isinstance(operand, Value):
            return operand
        return self.constant(operand, None if isinstance(operand, (np.ndarray, np.generic)) else dtype)

    # --- elementwise ---

    def ufunc(self, function: np.ufunc, *operands: Value) -> Value:
        """A ufunc of values and numbers. Where it has no loop for the dtype the result is computed in a wider one."""
        if function.signature is not None:
            return self.matmul(*operands) if function is np.matmul else self.call(function, *operands)
        values = self._values(operands)
        if function is np.multiply:
            for one, other in (values, values[::-1]):
                if _is_one(one.constant) and one.dtype == other.dtype:
                    return Value(other.stored, broadcast_shapes([one.shape, other.shape]))
        found = tuple([value.dtype for value in values])
        dtype = ufunc_result_dtype(function, found)
        if dtype is None:
            return self._in_wider_dtype(function, values)
        result = self._elementwise(Ufunc(function), values, dtype)
        # Some ufuncs widen dtypes of ml_dtypes by themselves, unsigned ones to signed ones of 8 bits.
        widened = found[0].isbuiltin != 1 and _kind(dtype) in (_kind(found[0]), "i")
        return self.cast(result, found[0]) if widened else result

    def _values(self, operands: Sequence[object]) -> list[Value]:
        dtype = next((operand.dtype for operand in operands if isinstance(operand, Value)), None)
        return [self.value(operand, dtype) for operand in operands]

    def _in_wider_dtype(self, function: np.ufunc, values: Sequence[Value]) -> Value:
        kinds = {_kind(value.dtype) for value in values} & _WIDER.keys()
        wide = _WIDER[min(kinds)] if kinds else None
        if wide is None or all([value.dtype == wide for value in values]):
            found = ", ".join([value.dtype.name for value in values])
            raise TypeError(f"{self.primitive}: NumPy's {function.__name__} does not take operands of dtype {found}")
        result = self.ufunc(function, *[self.cast(value, wide) for value in values])
        return self.cast(result, values[0].dtype) if result.dtype == wide else result

    def _elementwise(self, function: Function, values: Sequence[Value], dtype: np.dtype) -> Value:
        stored = [value.stored for value in values]
        shape = broadcast_shapes([value.shape for value in values])
        result = self.program.append(function, stored, broadcast_shapes([s.shape for s in stored]), dtype)
        return Value(result, shape)

    def cast(self, x: Value, dtype: DTypeLike) -> Value:
        """The elements in another dtype, as NumPy's `astype` converts them: not every conversion is XLA's."""
        if x.dtype == dtype:
            return x
        return self._elementwise(Cast(dtypes.as_dtype(dtype)), (x,), dtypes.as_dtype(dtype))

    def where(self, mask: Value, x: object, y: object) -> Value:
        """`x` where `mask` is true, else `y`. Both have one dtype; a number takes that of the other."""
        x, y = self._values((x, y))
        whole = broadcast_shapes([value.shape for value in (mask, x, y)])
        if x.stored is y.stored:
            return Value(x.stored, whole)
        stored = [value.stored for value in (mask, x, y)]
        shape = broadcast_shapes([s.shape for s in stored])
        function, taken = selection(prod(shape), x.dtype, *stored)
        return Value(self.program.append(function, taken, shape, x.dtype), whole)

    def bitcast(self, x: Value, dtype: DTypeLike) -> Value:
        """The same bits as another dtype of the same width."""
        dtype = dtypes.as_dtype(dtype)
        if x.dtype == dtype:
            return x
        return Value(self.program.append(Method("view", dtype), (x.stored,), x.stored.shape, dtype), x.shape)

    def real(self, x: Value) -> Value:
        """The real part of a complex value."""
        return self._part("real", x)

    def imag(self, x: Value) -> Value:
        """The imaginary part of a complex value."""
        return self._part("imag", x)

    def _part(self, name: str, x: Value) -> Value:
        dtype = dtypes.to_floating_dtype(x.dtype)
        return Value(self.program.append(Part(name), (x.stored,), x.stored.shape, dtype), x.shape)

    # --- shapes ---

    def reshape(self, x: Value, shape: Shape) -> Value:
        """The same elements in another shape."""
        shape = tuple(shape)
        if x.shape == shape:
            return x
        if x.stored.size == 1 and x.stored.shape != x.shape:
            return Value(self._reshaped(x.stored, ()), shape)
        return Value(self._reshaped(self.program.whole(x), shape), shape)

    def _reshaped(self, stored: Stored, shape: Shape) -> Stored:
        made_by = self.program.producers.get(stored)
        if made_by is not None and isinstance(made_by.function, Method) and made_by.function.name == "reshape":
            (stored,) = made_by.inputs
        if stored.shape == shape:
            return stored
        return self.program.append(Method("reshape", shape), (stored,), shape, stored.dtype)

    def transpose(self, x: Value, permutation: Sequence[int]) -> Value:
        """The dimensions reordered."""
        permutation = tuple(permutation)
        shape = tuple([x.shape[axis] for axis in permutation])
        if permutation == tuple(range(x.ndim)) or not x.stored.shape:
            return Value(x.stored, shape)
        padded = self._reshaped(x.stored, _padded(x))
        made_by = self.program.producers.get(padded)
        if made_by is not None and isinstance(made_by.function, Method) and made_by.function.name == "transpose":
            inner: Any = made_by.function.arguments[0]
            composed = tuple([inner[axis] for axis in permutation])
            if composed == tuple(range(x.ndim)):
                return Value(made_by.inputs[0], shape)
        if made_by is not None and made_by.function.is_matrix_product and permutation == (1, 0):
            # A product of views is in the memory order that what follows expects; the turned result would not be.
            right, left = [self.transpose(Value(factor, factor.shape), (1, 0)).stored for factor in made_by.inputs]
            return Value(self.program.append(made_by.function, (left, right), shape, x.dtype), shape)
        turned = tuple([padded.shape[axis] for axis in permutation])
        return Value(self.program.append(Method("transpose", permutation), (padded,), turned, x.dtype), shape)

    def broadcast(self, x: Value, shape: Shape, dimensions: Sequence[int]) -> Value:
        """`x` repeated to `shape`; its dimension i becomes `dimensions[i]`. Costs a reshape at most."""
        layout = [1] * len(shape)
        for size, target in zip(_padded(x), dimensions):
            layout[target] = size
        while layout and layout[0] == 1 and tuple(layout) != tuple(shape):
            del layout[0]
        return Value(self._reshaped(x.stored, tuple(layout)), tuple(shape))

    def index(self, x: Value, index: Any) -> Value:
        """`x[index]`, for integers, slices, None and `...`."""
        shape = np.broadcast_to(np.empty((), bool), x.shape)[index].shape
        if x.stored.size == 1 and x.stored.shape != x.shape and 0 not in shape:
            return Value(self._reshaped(x.stored, ()), shape)
        index = index if isinstance(index, tuple) else (index,)
        if Ellipsis not in index:  # without it an element would be a scalar
            index = (*index, Ellipsis)
        return Value(self.program.append(Index(index), (self.program.whole(x),), shape, x.dtype), shape)

    # --- whole arrays ---

    def reduce(self, function: np.ufunc, x: Value, axes: Sequence[int], keepdims: bool = False) -> Value:
        """`function.reduce` over `axes`, in the dtype of `x`."""
        axes = tuple(axes)
        if keepdims:
            shape = tuple([1 if axis in axes else size for axis, size in enumerate(x.shape)])
        else:
            shape = tuple([size for axis, size in enumerate(x.shape) if axis not in axes])
        if not axes:
            return x
        made = Reduction(function, axes, True) if keepdims else reduction(function, x.shape, tuple(sorted(axes)))
        return Value(self.program.append(made, (self.program.whole(x),), shape, x.dtype), shape)

    def matmul(self, x: Value, y: Value) -> Value:
        """`np.matmul` of values with two or more dimensions, or vectors; BLAS where the dtype allows."""
        left = x.shape if x.ndim > 1 else (1, *x.shape)
        right = y.shape if y.ndim > 1 else (*y.shape, 1)
        if left[-1] != right[-2]:
            raise ValueError(f"{self.primitive}: matmul of shapes {x.shape} and {y.shape}")
        rows = (left[-2],) if x.ndim > 1 else ()
        columns = (right[-1],) if y.ndim > 1 else ()
        shape = (*broadcast_shapes([left[:-2], right[:-2]]), *rows, *columns)
        inputs = (self.program.whole(x), self.program.whole(y))
        return Value(self.program.append(Ufunc(np.matmul), inputs, shape, x.dtype), shape)

    def call(self, function: object, *operands: object, nature: str = UNKNOWN, like: Any = None) -> Any:
        """Any callable of arrays.

        Args:
            nature: what its results share with the operands; see `functions.py`.
            like: the aval or value (or for several results the tuple of them) whose shape and dtype the result has; by
                default the results of the primitive.
        """
        known = function_of(function, nature)
        values = self._values(operands)
        if like is None:
            like = self.out_avals if self.primitive.multiple_results else self.out_aval
        if known.nature is ELEMENTWISE and not isinstance(like, tuple):
            result = self._elementwise(known, values, physical(like).dtype)
            return result
        inputs = [self.program.whole(value) for value in values]
        if not isinstance(like, tuple):
            type_ = physical(like)
            return Value(self.program.append(known, inputs, type_.shape, type_.dtype, self.effectful), type_.shape)
        outputs = [Stored(type_.shape, type_.dtype) for type_ in map(physical, like)]
        self.program.append_several(known, inputs, outputs, self.effectful)
        return tuple([Value(stored, stored.shape) for stored in outputs])

    # --- programs within ---

    def inline(self, closed: ClosedJaxpr, *values: Value) -> Any:
        """The steps of a closed jaxpr, here; returns its results."""
        outs = lower_jaxpr(self.program, closed, values)
        return outs if self.primitive.multiple_results else outs[0]

    def compile(self, closed: ClosedJaxpr) -> Callable[..., tuple[np.ndarray, ...]]:
        """A closed jaxpr as a function of arrays that returns a tuple: the body of a loop, say."""
        return NumpyArray.backend.array_function(closed)

    def compile_into(
        self, closed: ClosedJaxpr, positions: Sequence[int], carried: Sequence[tuple[int, int]] = ()
    ) -> tuple[Callable[..., tuple[np.ndarray, ...]], tuple[int, ...], tuple[int, ...]]:
        """As `compile`, for outputs at `positions` to be written into arrays of the caller.

        `carried`: pairs of an argument and the output that is this argument in the next call.

        Returns the function, the outputs that it takes a further argument for in place of returning them, and the
        arguments that it overwrites, which are to be in no other hands.
        """
        return NumpyArray.backend.array_function_into(closed, tuple(positions), tuple(carried))


def _padded(x: Value) -> Shape:
    return (1,) * (x.ndim - len(x.stored.shape)) + x.stored.shape


def _is_one(constant: np.ndarray | None) -> bool:
    return constant is not None and constant.size == 1 and constant.dtype.kind in "biuf" and constant.item() == 1


def _kind(dtype: np.dtype) -> str:
    for letter, numpy_class in (("f", np.floating), ("i", np.signedinteger), ("u", np.unsignedinteger)):
        if dtypes.issubdtype(dtype, numpy_class):
            return letter
    return ""


# --- the walk ---


def lower_jaxpr(program: Program, closed: ClosedJaxpr, arguments: Sequence[Value]) -> tuple[Value, ...]:
    """Append the steps of a jaxpr that is applied to `arguments`."""
    jaxpr = closed.jaxpr
    values: dict[Var, Value] = {}
    for var, const in zip(jaxpr.constvars, closed.consts):
        array = contents(const)
        values[var] = Value(program.constant(array), array.shape)
    values.update(zip(jaxpr.invars, arguments))

    def read(atom: Var | Literal) -> Value:
        if type(atom) is Literal:
            return Value(program.constant(atom.ndarray), ())
        return values[atom]

    for eqn in jaxpr.eqns:
        operands = tuple([read(atom) for atom in eqn.invars])
        out_avals = tuple([var.aval for var in eqn.outvars])
        types = [atom.aval for atom in eqn.invars]
        in_avals = tuple([aval if type(aval) is ShapedArray else aval.plain for aval in types])
        results = lower_primitive(program, eqn.primitive, operands, in_avals, out_avals, eqn.params, eqn.effects)
        values.update(zip(eqn.outvars, results))
    return tuple([read(atom) for atom in jaxpr.outvars])


def contents(const: Array) -> np.ndarray:
    """The array in a constant of a jaxpr."""
    array = getattr(const, "ndarray", None)
    return const.to_numpy() if array is None else array


@calls_rules("lower.numpy")
def lower_primitive(
    program: Program,
    primitive: Primitive,
    operands: tuple[Value, ...],
    in_avals: Sequence[ShapedArray],
    out_avals: Sequence[ShapedArray],
    params: Params,
    effects: frozenset[Effect] = frozenset(),
) -> tuple[Value, ...]:
    """Append the steps of one primitive applied to `operands`, unless the same was done before."""
    key = None
    if not effects:
        key = (
            primitive,
            params_key(params) if params else (),
            tuple([(operand.stored, operand.shape) for operand in operands]),
        )
        found = program.lowered.get(key)
        if found is not None:
            return found
    rule = _rules[primitive]
    outer, program.primitive = program.primitive, primitive
    ctx = Lowering(program, primitive, in_avals, out_avals, bool(effects) and keeps_alive(effects))
    sized = None
    if program.plan is not None and not (isinstance(rule, Kernel) and rule.any_sizes):
        sized = equation_at_sizes(primitive, in_avals, out_avals, params, effects, NumpyArray.backend.array_function)
    if sized is not None:
        results = ctx.call(sized, *operands)
    elif isinstance(rule, Kernel):
        results = rule.emit(ctx, *operands, **params) if rule.ufunc is None else ctx.ufunc(rule.ufunc, *operands)
    else:
        results = ctx.call(Opaque(_checked(rule, ctx, params)), *operands)
    program.primitive = outer
    outs = tuple(results) if primitive.multiple_results else (results,)
    _check_types(primitive, outs, out_avals)
    if key is not None:
        program.lowered[key] = outs
    return outs


@calls_rules("lower.numpy")
def _check_types(primitive: Primitive, outs: tuple[Value, ...], out_avals: Sequence[ShapedArray]) -> None:
    found = [(value.shape, value.dtype) if isinstance(value, Value) else value for value in outs]
    types = [aval if isinstance(aval.dtype, np.dtype) else physical(aval) for aval in out_avals]
    expected = [(type_.shape, type_.dtype) for type_ in types]
    if found != expected:
        raise TypeError(f"the {KIND!r} rule of primitive {primitive.identity!r} gives {found}, expected {expected}")


@calls_rules("lower.numpy", "ctx", inner="conform")
@calls_rules("lower.numpy", "ctx", inner="call_rule")
def _checked(
    rule: Callable[..., np.ndarray | Sequence[np.ndarray]], ctx: Lowering, params: Params
) -> Callable[..., np.ndarray | tuple[np.ndarray, ...]]:
    """A plain rule as a function of the arrays, whose results are checked."""
    several, identity = ctx.primitive.multiple_results, ctx.primitive.identity
    types = tuple([physical(aval) for aval in ctx.out_avals])

    def conform(result: object, type_: ShapedArray) -> np.ndarray:
        if isinstance(result, np.generic):
            result = np.asarray(result)
        if not isinstance(result, np.ndarray) or result.shape != type_.shape or result.dtype != type_.dtype:
            raise TypeError(
                f"the {KIND!r} rule of primitive {ctx.primitive.identity!r} returned {_describe(result)}; expected an "
                f"array of shape {type_.shape} and dtype {dtypes.dtype_name(type_.dtype)}"
            )
        return result

    def call_rule(*operands: np.ndarray) -> np.ndarray | tuple[np.ndarray, ...]:
        results = rule(ctx, *operands, **params)
        if not several:
            return conform(results, types[0])
        if not isinstance(results, (tuple, list)) or len(results) != len(types):
            raise TypeError(
                f"the {KIND!r} rule of primitive {identity!r} returned {results!r}; expected {len(types)} arrays"
            )
        return tuple([conform(result, type_) for result, type_ in zip(results, types)])

    return call_rule


def _describe(result: object) -> str:
    if isinstance(result, np.ndarray):
        return f"an array of shape {result.shape} and dtype {result.dtype}"
    return f"{result!r} of type {type(result).__name__}"


__all__ = ["KIND", "VIEW", "Lowering", "lower_jaxpr", "lower_primitive", "physical"]
