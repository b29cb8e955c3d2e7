"""The primitive that calls a registered handler."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from tangrad._ffi.frames import normalized
from tangrad.core import Array, Effect, PrimitiveSet, ShapedArray, api_boundary, as_operand, dtypes, is_array_value
from tangrad.typing import HasShapeAndDType, Params

if TYPE_CHECKING:
    from tangrad._ffi.frames import Dictionary


# --- The primitive that calls a registered handler ---

foreign = PrimitiveSet("foreign", api=1)


class FfiEffect(Effect):
    """A call of a handler that does more than compute its results. Any two are the same effect."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return "FFI"


_EFFECTS = (frozenset[Effect](), frozenset[Effect]([FfiEffect()]))


def _effects(avals: tuple[ShapedArray, ...], params: Params) -> frozenset[Effect]:
    return _EFFECTS[params["has_side_effect"]]


@foreign.primitive(name="ffi_call", multiple_results=True, weak_type="own", effects=_effects)
def ffi_call_p(
    *avals: ShapedArray,
    target: str,
    result_avals: tuple[ShapedArray, ...],
    attributes: Dictionary,
    aliases: tuple[tuple[int, int], ...],
    input_layouts: tuple[tuple[int, ...], ...],
    output_layouts: tuple[tuple[int, ...], ...],
    vmap_method: str | None,
    has_side_effect: bool,
    api_version: int,
    backend_config: str | None,
) -> tuple[ShapedArray, ...]:
    """The results of a compiled function, called by the name of its target.

    `aliases` are pairs of an operand and the result that takes over its memory; layouts list the dimensions from the
    slowest varying to the fastest.
    """
    return result_avals


# --- `ffi_call`: a registered handler as a function of arrays ---

VMAP_METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized", None)


class FFIOptions(TypedDict, total=False):
    has_side_effect: bool
    vmap_method: str | None
    input_layouts: Sequence[Sequence[int] | None] | None
    output_layouts: object
    input_output_aliases: Mapping[int, int] | None
    custom_call_api_version: int
    legacy_backend_config: str | None


@overload
def ffi_call(
    target_name: str, result_shape_dtypes: HasShapeAndDType, **options: Unpack[FFIOptions]
) -> Callable[..., Array]: ...
@overload
def ffi_call(
    target_name: str, result_shape_dtypes: Sequence[HasShapeAndDType], **options: Unpack[FFIOptions]
) -> Callable[..., list[Array]]: ...
@api_boundary
def ffi_call(
    target_name: str,
    result_shape_dtypes: HasShapeAndDType | Sequence[HasShapeAndDType],
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_layouts: Sequence[Sequence[int] | None] | None = None,
    output_layouts: object = None,
    input_output_aliases: Mapping[int, int] | None = None,
    custom_call_api_version: int = 4,
    legacy_backend_config: str | None = None,
) -> Callable[..., Array | list[Array]]:
    """A function of arrays that calls a compiled handler, registered by `register_ffi_target`.

    It has no derivative: give one to a function around it with `custom_jvp` or `custom_vjp`.

    Args:
        target_name: the name of the target.
        result_shape_dtypes: an object with `shape` and `dtype`, such as `ShapeDtypeStruct`, for one result; a sequence
            of these for several.
        has_side_effect: whether the call must happen even if its results are unused.
        vmap_method: how it is mapped by `vmap`: "sequential" and "sequential_unrolled" call it for each row, in a loop
            or one by one; "expand_dims" and "broadcast_all" call it once, with the batch's axis in front of all
            arguments, for what is not mapped of size 1 or of the batch's size; "legacy_vectorized" leaves what is not
            mapped as it is. None: mapping is an error.
        input_layouts, output_layouts: for each operand (result) the order of its dimensions in memory, from the slowest
            varying to the fastest, or None for the order of the rows of C.
        input_output_aliases: operand -> result that takes over its memory: the handler finds the operand's elements
            there. Their types agree.
        custom_call_api_version: 4, the typed interface; 1, 2 and 3 are old custom calls, which XLA alone can call.
        legacy_backend_config: the text that old custom calls get in place of attributes.

    Returns:
        `function(*args, **attributes)`: args are arrays. Attributes reach the handler by name and type: truth values,
        integers (64 bits), floats (doubles), NumPy scalars (of their width), texts, arrays and dictionaries of these.
        The result is an array, or a list of arrays where a sequence was declared.

    Raises:
        TypeError: for declarations without shape or dtype, arguments that are no arrays, attributes of other types.
        ValueError: for an unknown `vmap_method`, layouts and aliases that do not fit, an unknown version, and under
            differentiation.
        NotImplementedError: mapped without a `vmap_method`.
        BackendError: where no such target is registered for the platform.
        RuntimeError: what the handler reports, among it arguments and attributes that it does not take.

    >>> import ctypes, numpy, tangrad
    >>> from tangrad._ffi.frames import buffer, handler  # a compiled handler stands here
    >>> @handler
    ... def double(frame):
    ...     buffer(frame.rets, 0, ctypes.c_float)[...] = 2 * buffer(frame.args, 0, ctypes.c_float)
    >>> tangrad.ffi.register_ffi_target("documented_double", double)
    >>> x = numpy.float32([1, 2])
    >>> tangrad.ffi.ffi_call("documented_double", x)(x)
    Array([2., 4.], dtype=float32)
    """
    if not isinstance(target_name, str):
        raise TypeError(
            f"ffi_call: the target's name is a text, got {target_name!r} of type {type(target_name).__name__}"
        )
    if vmap_method not in VMAP_METHODS:
        raise ValueError(f"ffi_call: vmap_method must be one of {VMAP_METHODS}, got {vmap_method!r}")
    if custom_call_api_version not in (1, 2, 3, 4):
        raise ValueError(f"ffi_call: custom_call_api_version is 1, 2, 3 or 4, got {custom_call_api_version!r}")
    if legacy_backend_config is not None and custom_call_api_version == 4:
        raise ValueError(
            "ffi_call: legacy_backend_config is for custom_call_api_version below 4; pass attributes instead"
        )
    stated: Any = result_shape_dtypes
    several = isinstance(stated, (tuple, list))
    declared: list[Any] = list(stated) if several else [stated]
    result_avals = tuple([_declared_aval(one, number if several else None) for number, one in enumerate(declared)])
    if not several and output_layouts is not None:
        output_layouts = [output_layouts]
    out_layouts = _layouts("output_layouts", "result", output_layouts, result_avals)
    params: dict[str, object] = {
        "target": target_name,
        "result_avals": result_avals,
        "output_layouts": out_layouts,
        "vmap_method": vmap_method,
        "has_side_effect": bool(has_side_effect),
        "api_version": custom_call_api_version,
        "backend_config": legacy_backend_config,
    }
    return partial(_call, params, input_layouts, dict(input_output_aliases or {}), several)


@api_boundary
def _call(
    params: Params, input_layouts: object, aliases: object, several: bool, /, *args: object, **attributes: object
) -> Array | list[Array]:
    for position, arg in enumerate(args):
        if not is_array_value(arg):
            raise TypeError(
                f"ffi_call: argument {position} of {params['target']!r} is {arg!r} of type {type(arg).__name__}, which "
                "is no array; pass constants by name, as attributes"
            )
    if attributes and params["api_version"] != 4:
        raise ValueError(
            f"ffi_call: old custom calls take no attributes, got {sorted(attributes)}; pass legacy_backend_config"
        )
    operands = [as_operand(arg) for arg in args]
    avals = [operand.aval for operand in operands]
    for position, aval in enumerate(avals):
        if isinstance(aval.dtype, dtypes.ExtendedDType):
            raise TypeError(
                f"ffi_call: argument {position} of {params['target']!r} has dtype {aval.dtype}, unknown to C"
            )
    outs = ffi_call_p.bind(
        *operands,
        attributes=normalized(attributes),
        aliases=_aliases(aliases, avals, params["result_avals"]),
        input_layouts=_layouts("input_layouts", "argument", input_layouts, avals),
        **params,
    )
    return list(outs) if several else outs[0]


def _declared_aval(declared: HasShapeAndDType, number: int | None) -> ShapedArray:
    path = "result_shape_dtypes" if number is None else f"result_shape_dtypes[{number}]"
    try:
        shape, dtype = tuple(declared.shape), dtypes.as_dtype(declared.dtype)
    except (AttributeError, TypeError) as error:
        raise TypeError(
            f"ffi_call: {path} must have a shape and a dtype, such as tangrad.ShapeDtypeStruct((3,), 'float32'), got "
            f"{declared!r} of type {type(declared).__name__}"
        ) from error
    if isinstance(dtype, dtypes.ExtendedDType):
        raise TypeError(f"ffi_call: {path} has dtype {dtype}, unknown to C")
    if dtypes.canonicalize_dtype(dtype) != dtype:
        raise ValueError(
            f"ffi_call: {path} has dtype {dtype}, and 64-bit types are off: tangrad.config.update('enable_x64', True)"
        )
    return ShapedArray(shape, dtype)


def _layouts(name: str, what: str, given: Any, avals: Sequence[ShapedArray]) -> tuple[tuple[int, ...], ...]:
    if given is None:
        return tuple([tuple(range(aval.ndim)) for aval in avals])
    given = list(given)
    if len(given) != len(avals):
        raise ValueError(f"ffi_call: {name} has {len(given)} entries for {len(avals)} {what}s")
    found = []
    for number, (layout, aval) in enumerate(zip(given, avals, strict=True)):
        order = tuple(range(aval.ndim)) if layout is None else tuple(layout)
        if sorted(order) != list(range(aval.ndim)):
            raise ValueError(
                f"ffi_call: {name}[{number}] is {layout}, which is no order of the {aval.ndim} dimensions of {what} "
                f"{number}, of type {aval.str_short()}"
            )
        found.append(order)
    return tuple(found)


def _aliases(
    aliases: Any, in_avals: Sequence[ShapedArray], out_avals: tuple[ShapedArray, ...]
) -> tuple[tuple[int, int], ...]:
    for kind, number, count in [
        *[("operand", operand, len(in_avals)) for operand in aliases],
        *[("result", result, len(out_avals)) for result in aliases.values()],
    ]:
        if not isinstance(number, int) or not 0 <= number < count:
            raise ValueError(f"ffi_call: input_output_aliases {aliases} name {kind} {number}; there are {count}")
    if len(set(aliases.values())) < len(aliases):
        raise ValueError(f"ffi_call: input_output_aliases {aliases} give one result the memory of two operands")
    for operand, result in aliases.items():
        mine, other = in_avals[operand], out_avals[result]
        if (mine.shape, mine.dtype) != (other.shape, other.dtype):
            raise ValueError(
                f"ffi_call: input_output_aliases give result {result}, of type {other.str_short()}, the memory of "
                f"operand {operand}, of type {mine.str_short()}"
            )
    return tuple(sorted(aliases.items()))
