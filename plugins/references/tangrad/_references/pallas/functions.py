"""Kernels and index maps as programs: traced once, on references, into programs of values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tangrad import jit, tree
from tangrad._references.cells import value_program
from tangrad._references.pallas.grids import Block, Grid, as_block, within
from tangrad._references.pallas.interpretation import Layout, pallas_call_p
from tangrad._references.pallas.specs import BlockSpec, GridSpec, MemoryRef, Unsupported, no_block_spec
from tangrad.core import (
    ClosedJaxpr,
    ShapedArray,
    Tracer,
    api_boundary,
    array_leaves,
    as_array,
    as_operand,
    closed_over_as_arguments,
)
from tangrad.errors import UnexpectedTracerError
from tangrad.extend.lax import convert_element_type
from tangrad.tree_util import keystr

if TYPE_CHECKING:
    from tangrad.core import Array
    from tangrad.tree_util import PyTreeDef
    from tangrad.typing import PyTree, Value

# --- Kernels and index maps as programs: traced once, on references, into programs of values ---

INDEX = ShapedArray((), "int32")


def name_of(function: object) -> str:
    """The name of a kernel or an index map."""
    function = getattr(function, "func", function)  # of a partial application
    return getattr(function, "__name__", None) or type(function).__name__


def kernel_program(
    kernel: Callable[..., None],
    name: str,
    grid: tuple[int | None, ...],
    types: Sequence[ShapedArray],
    call: Callable[[Sequence[Any]], object],
) -> tuple[ClosedJaxpr, list[Value]]:
    """The program of a kernel, and what it closed over, which are its first operands.

    `types`: of the values behind its references; `call`: the kernel, applied to these. Raises TypeError for a kernel
    that returns something.
    """
    dynamic = grid.count(None)

    def run(*values: Array) -> list[Value]:
        ids, sizes, references = values[: len(grid)], iter(values[len(grid) :]), values[len(grid) + dynamic :]
        with within(Grid(ids, tuple([next(sizes) if size is None else size for size in grid]))):
            returned = call(references)
        if returned is not None:
            raise TypeError(
                f"pallas_call: kernel {name} returned {returned!r}; it must return None, and write its results to the "
                "references that come after those of the operands: o_ref[...] = value"
            )
        return []

    numbers = len(grid) + dynamic
    own = [False] * numbers + [True] * len(types)
    jaxpr, consts = value_program(run, [*[INDEX] * numbers, *types], own, name)
    closed = ClosedJaxpr(closed_over_as_arguments(jaxpr))
    return closed, [as_operand(const) for const in consts]


def index_program(
    maps: Sequence[tuple[str, object, Block]], grid: tuple[int | None, ...], scalars: Sequence[ShapedArray]
) -> ClosedJaxpr:
    """The program of all index maps: program ids and prefetched scalars -> where blocks start, one after the other.

    `maps`: for each array what errors call it, its index map, or None for zeros, and its block.
    """

    def run(*values: Array) -> list[Value]:
        starts: list[Value] = []
        for what, index_map, block in maps:
            starts += (
                [as_operand(0)] * len(block.sizes) if index_map is None else _starts(what, index_map, block, values)
            )
        return [convert_element_type(start, "int32") for start in starts]

    own = [False] * len(grid) + [True] * len(scalars)
    with within(None):
        jaxpr, consts = value_program(run, [*[INDEX] * len(grid), *scalars], own, "index maps")
    if any([isinstance(const, Tracer) for const in consts]):
        raise UnexpectedTracerError(
            "pallas_call: an index map closes over a value that is traced; give the kernel that value as a prefetched "
            "scalar (tpu.PrefetchScalarGridSpec), which index maps get as a reference"
        )
    outs = jaxpr.outvars[: len(jaxpr.outvars) - len(scalars)]
    return ClosedJaxpr(jaxpr.replace(outvars=outs), consts)


def _starts(what: str, index_map: Any, block: Block, values: Sequence[Array]) -> list[Value]:
    """What an index map returns. Raises ValueError for another number of results, TypeError for no integer scalars."""
    returned = index_map(*values)
    results = list(returned) if isinstance(returned, (tuple, list)) else [returned]
    name = name_of(index_map)
    if len(results) != len(block.sizes):
        raise ValueError(
            f"{what}: index map {name} returned {len(results)} values, expected {len(block.sizes)}: one for each "
            "dimension of the block"
        )
    starts = []
    for position, result in enumerate(results):
        try:
            start = as_operand(result)
        except TypeError:
            start = None
        if start is None or start.aval.shape or start.aval.dtype.kind not in "iu":
            raise TypeError(
                f"{what}: index map {name} returned {result!r} for dimension {position}, expected an integer scalar: "
                "the number of the block"
            )
        starts.append(start)
    return starts


# --- `pallas_call`: what users say of a kernel, checked and made the parameters of its primitive ---


class _Operand(NamedTuple):
    """One array of a call: what errors call it, its type, its index map, its block."""

    what: str
    aval: ShapedArray
    index_map: object
    block: Block


@api_boundary
def pallas_call(
    kernel: Callable[..., None],
    out_shape: object,
    *,
    grid_spec: GridSpec | None = None,
    grid: object = (),
    in_specs: object = no_block_spec,
    out_specs: object = no_block_spec,
    scratch_shapes: object = (),
    input_output_aliases: Mapping[int, int] = {},
    debug: bool = False,
    interpret: object = False,
    name: str | None = None,
    compiler_params: object = None,
    cost_estimate: object = None,
    metadata: Mapping[str, str] | None = None,
) -> Callable[..., PyTree]:
    """A kernel over a grid, as a function of arrays.

    The kernel is a function of references: to a block of each operand, to a block of each result, and to scratch
    memory. It reads (`x_ref[...]`) and writes them (`o_ref[...] = value`), and returns nothing. It is traced once and
    runs at each place of the grid, one after the other, the last dimension first: in interpreted form, one loop of
    array operations, on any backend. Mapped by `vmap`, the rows are one more dimension of the grid. It has forward-mode
    derivatives; for those in reverse give the function that calls it rules by `custom_vjp`.

    Args:
        kernel: the function of references.
        out_shape: what it returns: a tree of objects with a shape and a dtype, such as `ShapeDtypeStruct`.
        grid_spec: the four below as one object.
        grid: how often the kernel runs, in each dimension. (): once.
        in_specs: which part of each operand a run gets: a tree of `BlockSpec` like that of the operands; by default
            all of it.
        out_specs: likewise for the results; what another run wrote to the same block is still there.
        scratch_shapes: memory beside operands and results, such as `tpu.VMEM((8, 128), "float32")`, which stays from
            one run to the next; a dictionary is given to the kernel by name.
        input_output_aliases: operand -> the result that starts as that operand, both by their numbers.
        debug: whether to print the program of the kernel.
        interpret, compiler_params, cost_estimate, metadata: accepted; the interpreted form is what runs.
        name: of the kernel in programs, by default that of the function.

    Returns:
        A function of the operands: arrays, and trees of them.

    Raises:
        TypeError, ValueError: here and when it is called and traced, for what does not fit together: blocks and
            arrays, index maps and blocks, the grid, aliases, a kernel that returns something.
        NotImplementedError: for memory and operations that the interpreted form does not have.

    >>> import tangrad, tangrad.numpy as np
    >>> from tangrad.experimental import pallas as pl
    >>> def add(x_ref, y_ref, o_ref):
    ...     o_ref[...] = x_ref[...] + y_ref[...]
    >>> blocks = pl.BlockSpec((2,), lambda i: (i,))
    >>> struct = tangrad.ShapeDtypeStruct((5,), "float32")
    >>> pl.pallas_call(add, struct, grid=(3,), in_specs=[blocks, blocks], out_specs=blocks)(np.ones(5), np.arange(5.0))
    Array([1., 2., 3., 4., 5.], dtype=float32)
    """
    if not callable(kernel):
        raise TypeError(f"pallas_call: kernel must be a function of references, got {kernel!r}")
    spec = _grid_spec(grid_spec, grid, in_specs, out_specs, scratch_shapes)
    sizes, dynamic = _grid(spec.grid)
    label = name or name_of(kernel)
    out_avals, out_tree, out_names = _result_types(out_shape)
    scratch, scratch_tree = _scratch(spec.scratch_shapes)

    def call(*args: object) -> PyTree:
        split = spec.num_scalar_prefetch
        if len(args) < split:
            raise TypeError(f"pallas_call: {split} scalars are to be prefetched, and {label} got {len(args)} operands")
        leaves, in_tree = array_leaves(args, f"pallas_call: operands of {label}, the leaf at ")
        operands = [as_operand(leaf) for leaf in leaves]
        count = len(tree.leaves(args[:split]))
        scalars = [operand.aval.strip_weak_type() for operand in operands[:count]]
        types = [_plain(operand.aval) for operand in operands[count:]]
        paths = [f"operand{keystr(path)}" for path, _ in tree.leaves_with_path(args)][count:]
        inputs = _operands("in_specs", spec.in_specs, args[split:], types, paths, label)
        results = _operands("out_specs", spec.out_specs, out_shape, out_avals, out_names, label)
        aliases = _aliases(input_output_aliases, [*scalars, *types], out_avals)

        def apply(references: Sequence[object]) -> None:
            given = [*in_tree.unflatten(references[: len(leaves)])]
            end = len(leaves) + len(results)
            made = out_tree.unflatten(references[len(leaves) : end])
            given += made if type(made) in (tuple, list) else [made]
            extra = scratch_tree.unflatten(references[end:])
            return kernel(*given, **extra) if isinstance(extra, dict) else kernel(*given, *extra)

        seen = [operand.aval.update(shape=operand.block.seen) for operand in (*inputs, *results)]
        plain = [_plain(aval) for aval in scalars]
        maps = [(operand.what, operand.index_map, operand.block) for operand in (*inputs, *results)]
        index_map = index_program(maps, sizes, plain)
        program, captured = kernel_program(kernel, label, sizes, [*plain, *seen, *scratch], apply)
        if debug:
            print(f"The program of kernel {label}:\n{program}")
        outs = pallas_call_p.bind(
            *[as_operand(size) for size in dynamic],
            *captured,
            *operands,
            jaxpr=program,
            index_map=index_map,
            grid=sizes,
            blocks=tuple([operand.block for operand in (*inputs, *results)]),
            layout=Layout(len(captured), count, len(inputs), len(scratch)),
            out_types=tuple(out_avals),
            aliases=aliases,
            name=label,
        )
        return out_tree.unflatten([as_array(out) for out in outs])

    call.__name__ = call.__qualname__ = label
    return jit(call, inline=True)


# --- the arguments --------------------------------------------------------------------------------------------------


def _grid_spec(spec: object, grid: object, in_specs: object, out_specs: object, scratch_shapes: object) -> GridSpec:
    if spec is None:
        return GridSpec(grid, in_specs, out_specs, scratch_shapes)
    given = {
        "grid": grid != (),
        "in_specs": in_specs is not no_block_spec,
        "out_specs": out_specs is not no_block_spec,
        "scratch_shapes": bool(scratch_shapes),
    }
    twice = [name for name, is_given in given.items() if is_given]
    if twice:
        raise ValueError(f"pallas_call: {', '.join(twice)} and grid_spec were given; grid_spec has all of them")
    if not isinstance(spec, GridSpec):
        raise TypeError(f"pallas_call: grid_spec must be a GridSpec, got {spec!r} of type {type(spec).__name__}")
    return spec


def _grid(grid: tuple[Any, ...]) -> tuple[tuple[int | None, ...], list[Any]]:
    """The sizes of a grid, None where the program computes one; and those."""
    sizes: list[int | None] = []
    dynamic: list[object] = []
    for position, size in enumerate(grid):
        if hasattr(type(size), "__index__") and not hasattr(size, "aval"):
            sizes.append(size.__index__())
            if sizes[-1] is not None and sizes[-1] < 0:
                raise ValueError(f"pallas_call: grid has a negative size, {size}, for dimension {position}")
            continue
        aval = getattr(size, "aval", None)
        if aval is None or aval.shape or aval.dtype.kind not in "iu":
            raise TypeError(
                f"pallas_call: the size of dimension {position} of grid must be an integer, got {size!r} of type "
                f"{type(size).__name__}"
            )
        sizes.append(None)
        dynamic.append(size.astype("int32"))
    return tuple(sizes), dynamic


def _plain(aval: ShapedArray) -> ShapedArray:
    """The type of what a kernel sees of an operand: without the axes along which it is mapped."""
    return ShapedArray(aval.shape, aval.dtype)


def _result_types(out_shape: object) -> tuple[list[ShapedArray], PyTreeDef, list[str]]:
    leaves, structure = tree.flatten(out_shape)
    names = [f"result{keystr(path)}" for path, _ in tree.leaves_with_path(out_shape)]
    for leaf, what in zip(leaves, names, strict=True):
        if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
            raise TypeError(
                f"pallas_call: out_shape must be a tree of objects with a shape and a dtype, such as ShapeDtypeStruct, "
                f"got {leaf!r} of type {type(leaf).__name__} for {what}"
            )
    return [ShapedArray(tuple(leaf.shape), leaf.dtype) for leaf in leaves], structure, names


def _scratch(shapes: PyTree) -> tuple[list[ShapedArray], PyTreeDef]:
    leaves, structure = tree.flatten(shapes if isinstance(shapes, dict) else tuple(shapes))
    for leaf in leaves:
        if isinstance(leaf, Unsupported):
            leaf.refuse()
        if not isinstance(leaf, MemoryRef):
            raise TypeError(
                "pallas_call: scratch_shapes must be requests for memory, such as tpu.VMEM(shape, dtype), got "
                f"{leaf!r} of type {type(leaf).__name__}"
            )
    return [ShapedArray(leaf.shape, leaf.dtype) for leaf in leaves], structure


def _operands(
    argument: str, specs: object, values: object, avals: Sequence[ShapedArray], names: Sequence[str], kernel: str
) -> list[_Operand]:
    """Each array with its block. Raises ValueError where specs and arrays are not trees of one structure."""
    if argument == "in_specs" and specs is not no_block_spec and not isinstance(specs, (tuple, list)):
        raise TypeError(
            f"pallas_call of {kernel}: in_specs must be a tuple or list, a spec for each operand, got {specs!r}"
        )
    if specs is no_block_spec:
        found: list[BlockSpec] = [BlockSpec()] * len(avals)
    else:
        is_spec = lambda spec: spec is None or spec is no_block_spec or isinstance(spec, BlockSpec)
        found = tree.leaves(specs, is_leaf=is_spec)
        if len(found) != len(avals):
            raise ValueError(
                f"pallas_call of {kernel}: {argument} has {len(found)} specs, expected {len(avals)}: a BlockSpec for "
                f"each of {', '.join(names) or 'no array'}"
            )
    made = []
    for spec, aval, name in zip(found, avals, names, strict=True):
        what = f"pallas_call of {kernel}: {argument} of {name}"
        if spec is None or spec is no_block_spec:
            spec = BlockSpec()
        if not isinstance(spec, BlockSpec):
            raise TypeError(f"{what}: expected a BlockSpec, got {spec!r} of type {type(spec).__name__}")
        made.append(_Operand(what, aval, spec.index_map, as_block(what, spec.block_shape, aval.shape)))
    return made


def _aliases(
    pairs: Mapping[int, int], given: Sequence[ShapedArray], results: Sequence[ShapedArray]
) -> tuple[tuple[int, int], ...]:
    """Raises ValueError for numbers that no operand or result has, for a result twice, and for another type."""
    taken: set[int] = set()
    for operand, result in pairs.items():
        what = f"pallas_call: input_output_aliases has {operand}: {result}"
        if operand not in range(len(given)) or result not in range(len(results)):
            raise ValueError(f"{what}, but there are {len(given)} operands and {len(results)} results")
        if result in taken:
            raise ValueError(f"{what}, but another operand is result {result} already")
        taken.add(result)
        types = _plain(given[operand]), results[result]
        if types[0] is not types[1]:
            raise ValueError(f"{what}, but their types differ: {types[0].str_short()} and {types[1].str_short()}")
    return tuple(pairs.items())
