"""The stages of compilation that users may hold in hand: `TracedFunction`, `Lowered`, `Compiled`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from tangrad import tree
from tangrad._jit import checks
from tangrad._jit.abstract import result_structs
from tangrad._jit.call import (
    Call,
    OfReferences,
    Options,
    Traced,
    arrays_for,
    is_type_of_reference,
    refuse_references,
    run_backend,
    value_behind,
    with_float0_of_numpy,
)
from tangrad._jit.compiling import Compilation, watched
from tangrad._jit.layout import shardings_of_results, stated
from tangrad.core import (
    EVAL_TRACE,
    Sharding,
    Tracer,
    class_boundary,
    composition,
    get_aval,
    is_array_value,
    thread,
)
from tangrad.core.programs import LoweredProgram, Program, lower_program, to_arrays
from tangrad.core.settings import SETTINGS
from tangrad.errors import MissingDistributionError

if TYPE_CHECKING:
    from tangrad._jit.abstract import ShapeDtypeStruct
    from tangrad._jit.call import Execute
    from tangrad._jit.compile_report import CompileReport
    from tangrad.core import Backend, ClosedJaxpr, Device, Executable, ShapedArray
    from tangrad.tree_util import PyTreeDef
    from tangrad.typing import Dimensions, Params, PyTree


@dataclass(frozen=True, slots=True)
class ArgInfo:
    """What is known of one array among the arguments.

    Attributes:
        aval: its type.
        donated: whether the program may overwrite its memory.
    """

    aval: ShapedArray
    donated: bool

    @property
    def shape(self) -> Dimensions:
        """Its shape."""
        return tuple(self.aval.shape)

    @property
    def dtype(self) -> Any:
        """Its dtype."""
        return self.aval.dtype


@runtime_checkable
class Wrapped(Protocol):
    """A function that can be traced and lowered by itself, such as `jit` returns."""

    def __call__(self, *args: PyTree, **kwargs: object) -> PyTree:
        """Run it."""

    def trace(self, *args: object, **kwargs: object) -> TracedFunction:
        """The function, traced for these arguments."""

    def lower(self, *args: object, **kwargs: object) -> None:
        """The program for these arguments, not yet compiled."""


class _Stage:
    """What `Lowered` and `Compiled` both know: the trees and types of arguments and results."""

    __slots__ = ("_avals", "_call", "_name", "_traced", "donate_argnums")
    _options: Options

    def __init__(self, traced: Traced, call: Call, name: str, donate_argnums: tuple[int, ...]) -> None:
        self._traced = traced
        self._call = call
        self._name = name
        self._avals = [leaf.aval for leaf in call.leaves]
        self.donate_argnums = donate_argnums

    @property
    def in_tree(self) -> PyTreeDef:
        """The structure of `(positional arguments, keyword arguments)`, static ones left out."""
        return tree.structure(self.args_info)

    @property
    def in_avals(self) -> PyTree:
        """The types of the arguments, as a tree `(positional arguments, keyword arguments)`."""
        dynamic = self._call.treedef.unflatten(self._avals)
        return dynamic if self._call.has_keywords else (dynamic, {})

    @property
    def args_info(self) -> PyTree:
        """As `in_avals`, with an `ArgInfo` for each argument."""
        infos = [ArgInfo(aval, given) for aval, given in zip(self._avals, self._call.donated(), strict=True)]
        dynamic = self._call.treedef.unflatten(infos)
        return dynamic if self._call.has_keywords else (dynamic, {})

    @property
    def out_tree(self) -> PyTreeDef:
        """The structure of the result."""
        return self._traced.out_tree

    @property
    def out_info(self) -> dict[str, ShapeDtypeStruct]:
        """The types of the result, as a tree of `ShapeDtypeStruct`s."""
        return result_structs(self._options, self._traced, self._name)

    @property
    def out_avals(self) -> PyTree:
        """The types of the result, as a tree."""
        return self._traced.out_tree.unflatten(self._traced.jaxpr.out_avals)


_SERIALIZE = "export.serialize_compiled"


@class_boundary
class TracedFunction(_Stage):
    """A function traced for arguments of certain types, not yet lowered."""

    __slots__ = ("_options", "_place", "_reused")
    _place: object  # where new arrays were when it was traced, such as on a mesh
    _reused: bool

    @classmethod
    def of(cls, traced: Traced, call: Call, name: str, options: Options, reused: bool = False) -> TracedFunction:
        stage = cls(traced, call, name, options.donate_argnums)
        stage._options, stage._reused = options, reused
        stage._place = thread.default_device
        return stage

    @property
    def jaxpr(self) -> ClosedJaxpr:
        """The closed jaxpr. Values of outer traces that the function closed over are its first arguments."""
        return self._traced.jaxpr

    @property
    def fun_name(self) -> str:
        """The name of the function."""
        return self._name

    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> Lowered:
        """The program in the language of the backend.

        Args:
            lowering_platforms: the platform that it is for, such as `["tpu"]`; None: that of the backend. A program for
                another platform than the backend's can be read, and not compiled.

        Raises:
            NotImplementedError: for several platforms, for which `tangrad.export` writes programs, and on NumPy.
            ValueError: for unknown platforms.
        """
        options = self._options
        backend = run_backend(options, [value_behind(leaf) for leaf in self._call.leaves])
        if lowering_platforms is not None:
            options = checks.options_for(lowering_platforms, options, backend, self._name)
        with SETTINGS["default_device"](self._place):
            return Lowered.of(self._traced, self._call, backend, self._name, options, self._reused)

    def __repr__(self) -> str:
        return f"<traced {self._name}>"


@class_boundary
class Lowered(_Stage):
    """A program in the language that the backend compiles (StableHLO on XLA, Python on NumPy)."""

    __slots__ = ("_backend", "_donated", "_options", "_passes", "_program", "_references", "_reused")
    _backend: Backend
    _donated: tuple[bool, ...]
    _passes: float
    _program: LoweredProgram
    _references: OfReferences | None
    _reused: bool

    @classmethod
    def of(
        cls, traced: Traced, call: Call, backend: Backend, name: str, options: Options, reused: bool = False
    ) -> Lowered:
        stage = cls(traced, call, name, options.donate_argnums)
        stage._backend, stage._options, stage._reused = backend, options, reused
        if (device := options.place()) is not None:
            checks.check_device(device, name, traced)
        stage._donated = checks.taken_over(call, traced, options.keep_unused)
        stage._references = references = OfReferences.of(traced.jaxpr)
        inputs = checks.shardings_of_leaves(options, call, name)
        stage._avals = [a if s is None else s.type_of(a) for a, s in zip(stage._avals, inputs, strict=True)]
        written = references.written if references else ()
        outputs = [*shardings_of_results(options, traced, name), *[None] * len(written)]
        started = perf_counter()
        stage._program = watched(
            name,
            lower_program,
            references.program if references else traced.jaxpr,
            backend,
            name,
            device=device,
            donated=(*[False] * len(traced.outer), *call.donated()),
            keep_unused=options.keep_unused,
            in_shardings=stated([*[None] * len(traced.outer), *inputs]) if any(inputs) else (),
            out_shardings=stated(outputs),
            reason="compiled ahead of time",
            extra=options.extra(),
        )
        stage._passes = perf_counter() - started - stage._program.seconds
        return stage

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The program as text.

        Args:
            dialect: what the backend knows ("stablehlo", "hlo"), default the first.
            debug_info: whether to say, for each operation, which line of the user's program made it.

        Raises ValueError for a dialect that the backend does not know, or that cannot say the lines.
        """
        options: Params = {"debug_info": True} if debug_info else {}
        return self._program.lowered.as_text(*[] if dialect is None else [dialect], **options)

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The backend's own object for the program."""
        return self._program.lowered.compiler_ir(dialect)

    def cost_analysis(self) -> Any:
        """Estimates such as `flops`, as far as the backend knows them before compilation."""
        return self._program.lowered.cost_analysis()

    def compile(
        self,
        compiler_options: Mapping[str, object] | None = None,
        *,
        device_assignment: Sequence[Device] | None = None,
    ) -> Compiled:
        """Compile the program.

        Args:
            compiler_options: options of XLA by name, beside those of `jit`; where both say something, these hold.
            device_assignment: the devices that it was lowered for; one for another platform is lowered for theirs.

        Raises RuntimeError for a program for another platform, and for another number of devices; ValueError for other
        devices; TypeError or ValueError for options that it has not.
        """
        if device_assignment is not None and self._options.platform is not None:
            own = self._options._replace(platform=None)
            at_home = Lowered.of(self._traced, self._call, self._backend, self._name, own, self._reused)
            return at_home.compile(compiler_options, device_assignment=device_assignment)
        if device_assignment is not None:
            checks.check_assignment(self._name, tuple(device_assignment), self._program, self._call, self._backend)
        checks.check_can_be_compiled(self._options, self._name, self._backend)
        options = dict(checks.sorted_options(compiler_options, "compile: compiler_options"))
        started = perf_counter()
        extra = {"compiler_options": options} if options else None
        program = watched(self._name, self._program.compile, extra)
        return Compiled.of(self, program, perf_counter() - started)

    def __repr__(self) -> str:
        return f"<lowered {self._name} for {self._backend.name}>"


def _is_reference_outside(value: Tracer) -> bool:
    """Whether a value is a reference that no function that is being traced made, outside of such a function."""
    return is_type_of_reference(value.aval) and value._trace.outlasts and thread.trace is EVAL_TRACE


@class_boundary
class Compiled(_Stage):
    """A compiled program, for arguments of exactly the types it was lowered for."""

    __slots__ = ("_backend", "_donated", "_execute", "_made", "_options", "_program", "_references")
    _backend: Backend
    _donated: tuple[bool, ...]
    _execute: Execute
    _made: Compilation
    _program: Program
    _references: OfReferences | None

    @classmethod
    def of(cls, lowered: Lowered, program: Program, seconds: float) -> Compiled:
        stage = cls(lowered._traced, lowered._call, lowered._name, lowered.donate_argnums)
        stage._backend, stage._options, stage._program = lowered._backend, lowered._options, program
        stage._avals = lowered._avals
        stage._donated, source, stage._references = lowered._donated, lowered._program, lowered._references
        stage._execute = with_float0_of_numpy(program.execute, lowered._traced.jaxpr.out_avals)
        times = (lowered._traced.seconds, lowered._reused, lowered._passes, source.seconds, seconds)
        stage._made = Compilation(*times, source.closed, source.options)
        return stage

    def __call__(self, *args: PyTree, **kwargs: object) -> PyTree:
        """Run the program.

        Raises TypeError for arguments of another structure, shape or dtype than it was lowered for.
        """
        dynamic = (args, kwargs) if self._call.has_keywords else args
        leaves, treedef = tree.flatten(dynamic)
        if treedef != self._call.treedef or (kwargs and not self._call.has_keywords):
            raise TypeError(
                f"compiled function {self._name!r} was lowered for arguments of structure {self._call.treedef}, got "
                f"{treedef} "
                "(static arguments must be left out)"
            )
        for position, (leaf, expected) in enumerate(zip(leaves, self._avals, strict=True)):
            if not is_array_value(leaf):
                raise TypeError(f"argument {self._call.path(position)} is {leaf!r}, which is not an array")
            given = get_aval(leaf)
            if isinstance(leaf, Tracer) and not _is_reference_outside(leaf):
                raise TypeError(
                    f"compiled function {self._name!r} takes arrays only, got {leaf!r} as {self._call.path(position)}: "
                    f"it cannot be transformed, nor called while another function is traced; there use the jitted "
                    f"function itself"
                )
            as_expected = given.shape == expected.shape and given.dtype == expected.dtype
            if not as_expected or is_type_of_reference(given) != is_type_of_reference(expected):
                raise TypeError(
                    f"compiled function {self._name!r} was lowered for {expected.str_short()} as "
                    f"{self._call.path(position)}, "
                    f"got {given.str_short()}"
                )
        outer, references = self._traced.outer, self._references
        operands = [*outer, *leaves]
        values = operands if references is None else references.values(operands, self._name)
        arrays = arrays_for(self._backend, values[len(outer) :], self._options)
        checks.check_not_shared(self._call.path, self._donated, arrays, self._name)
        if outer:
            arrays = [*to_arrays(self._backend, values[: len(outer)]), *arrays]
        outs = self._execute(arrays)
        return self._traced.out_tree.unflatten(outs if references is None else references.write(operands, outs))

    @property
    def input_shardings(self) -> PyTree:
        """The shardings of the arguments, as a tree `(positional arguments, keyword arguments)`.

        None for an argument that the program does not read. Raises NotImplementedError where the backend does not say.
        """
        found = self._shardings(0, self._program.kept, len(self._traced.jaxpr.in_avals))
        dynamic = self._call.treedef.unflatten(found[len(self._traced.outer) :])
        return dynamic if self._call.has_keywords else (dynamic, {})

    @property
    def input_formats(self) -> PyTree:
        """The shardings of the arguments: compilers choose layouts, so that a format holds no more."""
        return self.input_shardings

    @property
    def output_formats(self) -> PyTree:
        """The shardings of the results, as `input_formats`."""
        return self.output_shardings

    @property
    def output_shardings(self) -> PyTree:
        """The shardings of the results, as a tree. Raises NotImplementedError where the backend does not say."""
        count = len(self._traced.jaxpr.out_avals)
        written = len(self._references.written) if self._references else 0
        return self._traced.out_tree.unflatten(self._shardings(1, None, count + written)[:count])

    @property
    def out_info(self) -> dict[str, ShapeDtypeStruct]:
        """The types of the result, as a tree of `ShapeDtypeStruct`s, with shardings if the backend reports them."""
        if not self._program.executable.places()[1] or composition().find("tangrad.api", checks.ON_ONE_DEVICE) is None:
            return super().out_info
        return tree.map(
            lambda struct, sharding: struct.update(sharding=sharding), super().out_info, self.output_shardings
        )

    def _shardings(self, side: int, positions: Sequence[int] | None, count: int) -> list[Sharding | None]:
        """Those of the arguments (side 0) or of the results (1), None for all that are not at `positions`."""
        places = self._program.executable.places()[side]
        at = range(count) if positions is None else positions
        if len(places) != len(at):
            raise NotImplementedError(
                f"the backend {self._backend.name!r} does not report the shardings of arguments and results: "
                f"its executables need a method places()"
            )
        found: list[Sharding | None] = [None] * count
        for position, place in zip(at, places, strict=True):
            found[position] = place if isinstance(place, Sharding) else checks.on_one_device(place)
        return found

    def serialize(self, *, key: bytes | None = None) -> bytes:
        """The compiled program as bytes, which `tangrad.load_compiled` reads. See `export.serialize_compiled`.

        Raises MissingDistributionError where tangrad-export is not installed.
        """
        plugin = composition().find("tangrad.api", _SERIALIZE)
        if plugin is None:
            raise MissingDistributionError(f"tangrad.{_SERIALIZE}", "tangrad-export")
        return plugin.load()(self, key=key)

    def as_text(self) -> str:
        """The compiled program as text (optimised HLO on XLA, Python source on NumPy)."""
        return self._program.executable.as_text()

    def cost_analysis(self) -> dict[str, float]:
        """Estimates such as `flops` and `bytes accessed`."""
        return self._program.executable.cost_analysis()

    def memory_analysis(self) -> Any:
        """Sizes of arguments, outputs and temporaries in bytes, as far as the backend knows them."""
        return self._program.executable.memory_analysis()

    def report(self) -> CompileReport:
        """What compiling took, and what became of the program: times, regions, sizes before and after, memory.

        It is made when it is asked for; the program is lowered once more for that.

        >>> import tangrad
        >>> report = tangrad.jit(lambda x: x + x).lower(1.0).compile().report()
        >>> [stage.stage for stage in report.stages]
        ['tracing', 'passes', 'lowering', 'compiling']
        """
        from tangrad._jit.compile_report import report_of

        return report_of(self._name, self._traced.jaxpr, self._made, self._backend, self._program.executable)

    def runtime_executable(self) -> Any:
        """The backend's own executable."""
        return self._program.executable

    def __repr__(self) -> str:
        return f"<compiled {self._name} for {self._backend.name}>"


class CompiledParts(NamedTuple):
    """What a compiled program consists of, for who writes it.

    Attributes:
        name: of the function. backend: the one that compiled it. program: what it was lowered from.
        executable: the backend's. kept: which arguments it takes, by position; None: all.
        outer: values of functions that were being traced around it, which are its first arguments.
        donated: for each of its own arguments, whether the program overwrites it.
        device: the one that `jit(device=)` names; None: it runs where its arguments are.
    """

    name: str
    backend: Backend
    program: ClosedJaxpr
    executable: Executable
    kept: Sequence[int] | None
    outer: Sequence[object]
    donated: Sequence[bool]
    device: Device | None


def parts_of(compiled: Compiled) -> CompiledParts:
    """The parts of a compiled program. Raises TypeError for one that takes references."""
    traced, program = compiled._traced, compiled._program
    refuse_references(traced.jaxpr, compiled._name)
    return CompiledParts(
        compiled._name,
        compiled._backend,
        traced.jaxpr,
        program.executable,
        program.kept,
        traced.outer,
        compiled._donated,
        compiled._options.place(),
    )


class TracedParts(NamedTuple):
    """What a traced function consists of, for who lowers it by itself.

    Attributes:
        name: of the function. program: its closed jaxpr. outer: as in `CompiledParts`.
        in_shardings, out_shardings: of each argument and result; None where it is left open.
    """

    name: str
    program: ClosedJaxpr
    outer: Sequence[object]
    in_shardings: Sequence[Sharding | None]
    out_shardings: Sequence[Sharding | None]


def parts_of_traced(function: TracedFunction) -> TracedParts:
    """The parts of a traced function. Raises TypeError for one that takes references."""
    name, traced, options = function._name, function._traced, function._options
    refuse_references(traced.jaxpr, name)
    inputs = checks.shardings_of_leaves(options, function._call, name)
    outputs = shardings_of_results(options, traced, name)
    return TracedParts(name, traced.jaxpr, traced.outer, inputs, outputs)
