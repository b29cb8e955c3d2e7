"""Compiled programs: a generated function of arrays, what puts arrays in and takes them out, and its entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_numpy.array import NumpyArray, is_sole_owner, new_array, physical
from tangrad._backend_numpy.blocks import find_blocks, find_tiles
from tangrad._backend_numpy.functions import ELEMENTWISE, FRESH
from tangrad._backend_numpy.lowering import lower_jaxpr
from tangrad._backend_numpy.program import Program
from tangrad._backend_numpy.quiet import is_reentrant, quiet, run_quietly
from tangrad._backend_numpy.sharded import Place, ProgramLayout, common_place, default_sharding
from tangrad._backend_numpy.simplify import arrange, simplify
from tangrad._backend_numpy.size_text import plan_of
from tangrad._backend_numpy.source import Source, function_from, text_function
from tangrad.core import Array, ClosedJaxpr, Executable, ShapedArray, Sharding, checked_operands, thread
from tangrad.core.arguments import first_symbolic
from tangrad.core.backends import CompileOptions

if TYPE_CHECKING:
    from tangrad._backend_numpy.program import Step, Stored
    from tangrad.typing import Value


# --- What a call of a compiled program runs ---
# arrays are unpacked, the program is called, its results are wrapped.
# This too is text made here, because a loop over arguments costs as much as a small program: 20 arrays in and 10 out
# take 2 µs. Programs with as many arguments and results share it.


def entry_function(
    program: Callable[..., object],
    slowly: Callable[..., object],
    arguments: int,
    out_avals: Sequence[ShapedArray],
    donated: Sequence[int],
    owned: Sequence[int],
) -> Callable[..., Any]:
    """The function from a sequence of arrays to the list of results.

    Args:
        program: the function of ndarrays.
        slowly: what to call for arguments that are out of the ordinary.
        donated: the positions of the arguments that are deleted.
        owned: the positions of those that the program takes once more, to write over: None where others see their
            memory.
    """
    namespace = {
        "__builtins__": {"AttributeError": AttributeError, "RuntimeError": RuntimeError, "ValueError": ValueError},
        "new": new_array,
        "type": type,
        "NumpyArray": NumpyArray,
        "quiet": quiet,
        "is_reentrant": is_reentrant,
        "is_sole_owner": is_sole_owner,
        "program": program,
        "slowly": slowly,
        "thread": thread,
    }
    namespace |= {f"t{position}": aval for position, aval in enumerate(out_avals)}
    return text_function(_text(arguments, len(out_avals), tuple(donated), tuple(owned)), namespace, "execute")


def _text(arguments: int, results: int, donated: tuple[int, ...], owned: tuple[int, ...]) -> str:
    names = [f"x{position}" for position in range(arguments)]
    buffers = [f"b{position}" for position in range(arguments)]
    outs = [f"r{position}" for position in range(results)]
    target = f"{_tuple(outs)} = " if outs else ""
    lines = ["def execute(arrays):"]
    if not arguments:  # no array determines where the results are to be
        lines += ["    if thread.default_device is not None:", "        return slowly(arrays)"]
    lines += ["    try:", f"        {_tuple(names)} = arrays"]
    lines += [f"        {buffer} = {name}.ndarray" for name, buffer in zip(names, buffers)]
    lines += ["    except (AttributeError, ValueError):", "        return slowly(arrays)"]
    lines += _donation(donated, owned)
    call = ", ".join([*buffers, *[f"d{position}" for position in owned]])
    lines += ["    try:", f"        {target}quiet.run(program{', ' if call else ''}{call})"]
    lines += ["    except RuntimeError:", "        if not is_reentrant():", "            raise"]
    lines += [f"        {target}program({call})"]
    for position, name in enumerate(outs):
        lines += [f"    y{position} = new(NumpyArray)", f"    y{position}.aval = t{position}"]
        lines.append(f"    y{position}.ndarray = {name}")
    lines.append(f"    return [{', '.join([f'y{position}' for position in range(results)])}]")
    return "\n".join(lines) + "\n"


def _donation(donated: tuple[int, ...], owned: tuple[int, ...]) -> list[str]:
    """Arguments that are given away lose their contents; then it shows who else knows of them."""
    if not donated:
        return []
    kinds = " and ".join([f"type(x{position}) is NumpyArray" for position in donated])
    lines = [f"    if not ({kinds}):", "        return slowly(arrays)"]
    for position in donated:  # the same array may be given twice
        lines += ["    try:", f"        del x{position}.ndarray", "    except AttributeError:", "        pass"]
    if owned:
        # In a list, and nowhere else: what is counted are references.
        lines.append(f"    given = [{', '.join([f'b{position}' for position in owned])}]")
        lines.append(f"    del {', '.join([f'b{position}' for position in owned])}")
        for place, position in enumerate(owned):
            lines.append(f"    d{position} = given[{place}] if is_sole_owner(given, {place}) else None")
        lines += [f"    b{position} = given[{place}]" for place, position in enumerate(owned)]
    return lines


def _tuple(names: Sequence[str]) -> str:
    return f"({', '.join(names)},)" if names else "()"


FOLD_LIMIT = 1 << 20  # bytes: results that depend on constants alone are kept up to this size


def build(closed: ClosedJaxpr, donated: Sequence[bool] = ()) -> Program:
    """Lower a closed jaxpr to the steps that run."""
    program = Program(FOLD_LIMIT)
    avals = closed.in_avals
    if any([size.__class__ is not int for aval in avals for size in aval.shape]):
        program.plan = plan_of(avals)
    types = [aval if isinstance(aval.dtype, np.dtype) else physical(aval) for aval in avals]
    arguments = [program.argument(type_.shape, type_.dtype) for type_ in types]
    program.donated = {value.stored for value, gone in zip(arguments, donated) if gone}
    results = lower_jaxpr(program, closed, arguments)
    program.outputs = [program.whole(result) for result in results]
    program.drop_dead_steps()
    simplify(program)
    program.rewrite()
    if program.plan is None:
        arrange(program)
        find_tiles(program)
        find_blocks(program)
    return program


def array_function(closed: ClosedJaxpr, name: str = "body") -> Callable[..., tuple[np.ndarray, ...]]:
    """A closed jaxpr as a function of ndarrays that returns a tuple of them."""
    function: Callable[..., tuple[np.ndarray, ...]] = function_from(Source(build(closed), name, single=False))
    return function


def array_function_into(
    closed: ClosedJaxpr, positions: Sequence[int], carried: Sequence[tuple[int, int]] = ()
) -> tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...]]:
    """As `array_function`, for a caller that has arrays at hand for the outputs at `positions`.

    `carried`: pairs of an argument and the output that is this argument in the next call.

    Returns the function, the outputs that it writes into further arguments, one for each, which it does not return, and
    the arguments that it overwrites, which are to be in no other hands.
    The others at `positions` are views, arguments and the like: they are returned.
    """
    program = build(closed)
    steps = {stored: step for step in program.steps for stored in step.outputs}
    written = []
    for position in positions:
        stored = program.outputs[position]
        step = steps.get(stored)
        if step is None or step.several or not step.function.writes_into or stored in program.destinations:
            continue
        if step.function.nature in (ELEMENTWISE, FRESH):
            program.destinations[stored] = program.argument(stored.shape, stored.dtype).stored
            written.append(position)
    updated = [argument for argument, position in carried if _is_updated(program, steps, argument, position)]
    program.owned = {program.arguments[argument] for argument in updated}
    program.outputs = [stored for position, stored in enumerate(program.outputs) if position not in written]
    source = Source(program, "body", single=False)
    targets = set(source.plan.into.values())
    overwritten = tuple([argument for argument in updated if program.arguments[argument] in targets])
    return function_from(source), tuple(written), overwritten


def _is_updated(program: Program, steps: Mapping[Stored, Step], argument: int, position: int) -> bool:
    """Whether an output is an argument with parts replaced, and in memory that nothing else shows after the call."""
    result = source = program.outputs[position]
    while source is not program.arguments[argument]:
        step = steps.get(source)
        if step is None or step.several or not step.function.updates:
            return False
        source = step.inputs[0]
    is_shown = program.outputs.count(result) > 1 or any([result in step.inputs for step in program.steps])
    return source is not result and not is_shown


class NumpyExecutable(Executable):
    """A compiled program.

    `execute` is generated too: see `entry`.
    """

    __slots__ = (
        "_device",
        "_donated",
        "_function",
        "_in_avals",
        "_layout",
        "_name",
        "_out_avals",
        "_over",
        "_owned",
        "_plan",
        "_source",
        "execute",
    )
    execute: Callable[[Sequence[Any]], list[Any]]  # type: ignore[assignment]

    def __init__(self, closed: ClosedJaxpr, options: CompileOptions, over: Sharding | None = None) -> None:
        refuse_compiler_options(options.extra)
        program = build(closed, options.donated)
        self._name = options.name
        self._source = Source(program, options.name, single=False)
        self._function = function_from(self._source)
        self._owned = tuple(self._source.owned_positions)
        self._donated = tuple([position for position, gone in enumerate(options.donated) if gone])
        self._device = options.device
        self._in_avals = tuple(closed.in_avals)
        self._out_avals = tuple(closed.out_avals)
        self._plan = program.plan
        several = len(NumpyArray.backend.devices()) > 1
        layout = ProgramLayout(closed, options) if several else None
        self._layout = layout if layout is not None and layout.is_stated else None
        self._over = over or default_sharding() if several and options.device is None else None
        placed = self._layout is not None or self._over is not None or (several and options.device is not None)
        if self._plan is not None or placed:
            self.execute = self._execute_slowly
        else:
            self.execute = entry_function(
                self._function,
                self._execute_slowly,
                len(self._in_avals),
                self._out_avals,
                self._donated,
                self._owned,
            )

    # --- running ---

    def _execute_slowly(self, arrays: Sequence[Array]) -> list[NumpyArray]:
        """With several devices or symbolic sizes, or arguments that are not what they should be."""
        operands = self._checked(arrays)
        out_avals = self._out_avals if self._plan is None else self._types_of_results(operands)
        layout = self._layout if self._device is None else None
        if layout is not None:
            layout.check(operands)
        place = None
        if layout is None and self._device is None:
            place = common_place(f"program {self._name!r}", operands, self._over)
        buffers = [operand.buffer() if isinstance(operand, NumpyArray) else operand.ndarray for operand in operands]
        for position in self._donated:
            if isinstance(arrays[position], NumpyArray):
                arrays[position].delete()
        owned = [buffers[position] if is_sole_owner(buffers, position) else None for position in self._owned]
        results = run_quietly(self._function, *buffers, *owned)
        if layout is not None:
            return layout.wrap(operands, out_avals, results)
        if place is None:
            assert self._device is not None  # or the arguments have given the place
            place = Place(self._device, True)
        return [place.wrap(aval, result) for aval, result in zip(out_avals, results)]

    def _checked(self, arrays: Sequence[Value]) -> list[NumpyArray]:
        if len(arrays) != len(self._in_avals):
            raise TypeError(f"program {self._name!r} takes {len(self._in_avals)} arrays, got {len(arrays)}")
        operands = list(checked_operands(NumpyArray.backend, tuple(arrays)))
        for position, (operand, aval) in enumerate(zip(operands, self._in_avals)):
            if self._differs(operand.aval, aval):
                raise TypeError(
                    f"program {self._name!r} takes {aval.str_short()} as argument {position}, "
                    f"got {operand.aval.str_short()}"
                )
        return operands

    def _differs(self, given: ShapedArray, aval: ShapedArray) -> bool:
        """Whether an argument is of another type; its sizes, if any are symbolic, are looked at later."""
        return given.dtype != aval.dtype or (self._plan is None and given.shape != aval.shape)

    def _types_of_results(self, operands: Sequence[Value]) -> tuple[ShapedArray, ...]:
        """Raises ValueError for arguments whose sizes do not fit."""
        sizes = self._plan.sizes([operand.aval.shape for operand in operands])
        return tuple([first_symbolic(self._in_avals).filled_in(aval, sizes) for aval in self._out_avals])

    # --- what users may ask ---

    def places(self) -> tuple[list[Any], list[Any]]:
        if self._layout is not None and self._device is None:
            return self._layout.places(self._in_avals, self._out_avals)
        device = self._device or self._over or NumpyArray.backend.default_device()
        return [device] * len(self._in_avals), [device] * len(self._out_avals)

    def as_text(self) -> str:
        """The generated Python function."""
        return self._source.text

    def compile_facts(self) -> dict[str, Any]:
        """How many calls of NumPy the function makes, those of functions that it calls left out."""
        return {"instructions": len(self._source.program.steps)}

    def cost_analysis(self) -> dict[str, float]:
        """Estimates: `flops`, counting one per element of elementwise results, and `bytes accessed`.

        None of programs whose sizes are known at the call only.
        """
        if self._plan is not None:
            return {}
        flops = accessed = 0.0
        for step in self._source.program.steps:
            flops += step.function.flops(step.inputs, step.outputs)
            accessed += sum([stored.nbytes for stored in (*step.inputs, *step.outputs)])
        return {"flops": flops, "bytes accessed": accessed}

    def memory_analysis(self) -> MemoryAnalysis | None:
        """Bytes of arguments, results, temporaries and text; None where sizes are known at the call only."""
        if self._plan is not None:
            return None
        program = self._source.program
        outputs = set(program.outputs)
        fresh = [
            s for step in program.steps for s in step.outputs if s not in outputs and s not in self._source.plan.into
        ]
        return MemoryAnalysis(
            sum([stored.nbytes for stored in program.arguments]),
            sum([stored.nbytes for stored in program.outputs]),
            sum([stored.nbytes for stored in fresh]),
            len(self._source.text),
        )


def refuse_compiler_options(extra: Mapping[str, object] | None) -> None:
    """Raise ValueError where there are options for XLA's compiler among what only one backend knows."""
    given = (extra or {}).get("compiler_options")
    if given:
        raise ValueError(
            f"the NumPy backend makes Python functions of programs and has no compiler_options; got {given}: leave "
            "them out, or run on XLA"
        )


class MemoryAnalysis:
    """Sizes in bytes. Temporaries are all that are allocated in one run, though not all at once."""

    __slots__ = (
        "argument_size_in_bytes",
        "generated_code_size_in_bytes",
        "output_size_in_bytes",
        "temp_size_in_bytes",
    )

    def __init__(self, arguments: int, outputs: int, temporaries: int, code: int) -> None:
        self.argument_size_in_bytes = arguments
        self.output_size_in_bytes = outputs
        self.temp_size_in_bytes = temporaries
        self.generated_code_size_in_bytes = code

    def __repr__(self) -> str:
        return f"MemoryAnalysis({', '.join([f'{name}={getattr(self, name)}' for name in self.__slots__])})"


class Lowered:
    """A program as text, not yet made a function."""

    __slots__ = ("_closed", "_options", "_over", "_source")

    def __init__(self, closed: ClosedJaxpr, options: CompileOptions) -> None:
        self._closed = closed
        self._options = options
        self._over = default_sharding()
        self._source: Source | None = None

    def as_text(self, dialect: str = "python", *, debug_info: bool = False) -> str:
        """The program as text: the generated Python function, or, for the dialect "jaxpr", the jaxpr.

        `debug_info`: whether equations of the jaxpr say which line made them. Python text has no equations.
        """
        if dialect == "jaxpr":
            return self._closed.pretty_print(source_info=debug_info)
        if debug_info:
            raise ValueError("as_text(debug_info=True) on the NumPy backend is there for the dialect 'jaxpr'")
        if dialect != "python":
            raise ValueError(f"the dialects of the NumPy backend are 'python' and 'jaxpr', got {dialect!r}")
        if self._source is None:
            self._source = Source(build(self._closed, self._options.donated), self._options.name, single=False)
        return self._source.text

    def compiler_ir(self, dialect: str | None = None) -> ClosedJaxpr:
        """The closed jaxpr."""
        return self._closed

    def cost_analysis(self) -> dict[str, float]:
        """As of the compiled program."""
        return self.compile().cost_analysis()

    def compile(self, extra: Mapping[str, object] | None = None) -> NumpyExecutable:
        """Make it a function. Raises ValueError for compiler options: there is no compiler."""
        refuse_compiler_options(extra)
        return NumpyExecutable(self._closed, self._options, self._over)
