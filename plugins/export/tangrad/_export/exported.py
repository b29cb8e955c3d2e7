"""`Exported`: a program as StableHLO, with all that is needed to call it, and the checks that users may turn off."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tangrad import tree
from tangrad._export.primitives import call_exported_p
from tangrad._export.writing import SavedSharding, over_mesh, serialize
from tangrad.core import ClosedJaxpr, ShapedArray, as_operand, class_boundary, get_backend
from tangrad.core.arguments import first_symbolic
from tangrad.core.caches import JaxprCache, exact_equality, register_cache
from tangrad.errors import ArgumentError
from tangrad.extend.symbolic import Plan, evaluate_shape, plan

if TYPE_CHECKING:
    from tangrad.core import Sharding
    from tangrad.sharding import AbstractMesh, Mesh
    from tangrad.tree_util import PyTreeDef
    from tangrad.typing import PyTree


# --- The checks of exporting and calling that users may turn off ------------------------------------------------------


@class_boundary
class DisabledSafetyCheck:
    """A check that is not to be made, for `export(..., disabled_checks=[...])`; made by its class methods.

    >>> from tangrad.export import DisabledSafetyCheck
    >>> DisabledSafetyCheck.custom_call("my_kernel")
    DisabledSafetyCheck.custom_call('my_kernel')
    """

    __slots__ = ("kind", "target")

    def __init__(self, kind: str, target: str | None = None) -> None:
        self.kind = kind
        self.target = target

    @classmethod
    def platform(cls) -> DisabledSafetyCheck:
        """That a program runs on a platform that it was exported for."""
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> DisabledSafetyCheck:
        """That a custom call keeps its meaning from one release to the next; of one target."""
        return cls("custom_call", target_name)

    def is_custom_call(self) -> str | None:
        """The target of a custom call that is let through, None for another check."""
        return self.target

    def __eq__(self, other: object) -> bool:
        return type(other) is DisabledSafetyCheck and (self.kind, self.target) == (other.kind, other.target)

    def __hash__(self) -> int:
        return hash((self.kind, self.target))

    def __repr__(self) -> str:
        return f"DisabledSafetyCheck.{self.kind}({'' if self.target is None else repr(self.target)})"


# What keeps its meaning: what the compiler itself knows, and jaxlib's kernels whose interface jax.export relies on.
_STABLE = re.compile(
    r"shape_assertion|Sharding|SPMDFullToShardShape|SPMDShardToFullShape|annotate_device_placement|AllocateBuffer"
    r"|LuDecomposition|Qr|ProductOfElementaryHouseholderReflectors|Eigh|ApproxTopK"  # of TPUs
    r"|stablehlo\.dynamic_(reduce_window|rng_bit_generator|top_k|approx_top_k)"
    r"|mhlo\.(topk|erf|acos|acosh|asin|asinh|atanh|cosh|sinh|tan)"
    r"|lapack_[sdcz][a-z0-9]+_ffi|tridiagonal_solve_perturbed_ffi"
    r"|(cu|hip)(solver|blas|sparse|hybrid)?_[A-Za-z0-9_]+"
)
# Functions of Python: the process that made the program knows them by numbers, in any other these mean something else.
_PYTHON = re.compile(r"xla_.*python.*callback.*")
# What waits for a partner outside of the program, which is not there.
_WAITING = frozenset({"stablehlo.infeed", "stablehlo.outfeed", "stablehlo.send", "stablehlo.recv"})
_DIALECTS = frozenset({"builtin", "func", "stablehlo", "chlo", "sdy"})


def check_contents(
    name: str,
    operations: Iterable[str],
    targets: Iterable[str],
    disabled: Sequence[DisabledSafetyCheck],
    *,
    only_made: bool = False,
) -> None:
    """Raise ValueError for a module that another process, or another release, may not be able to run.

    Args:
        name: what messages begin with.
        operations: the names of the module's operations, those within functions and regions included.
        targets: the targets of its custom calls, likewise.
        disabled: the checks that its author turned off. That does not make functions of Python another process's.
        only_made: whether it is being made, and not to be called yet: its text may be all that is wanted.
    """
    waiting = sorted(_WAITING.intersection(operations))
    if waiting:
        raise ValueError(
            f"{name} has {', '.join(waiting)}, which would wait for ever: there is no partner at the other end"
        )
    foreign = sorted({operation for operation in operations if operation.partition(".")[0] not in _DIALECTS})
    if foreign:
        raise ValueError(f"{name} has {', '.join(foreign)}, of dialects other than {', '.join(sorted(_DIALECTS))}")
    let_through = {check.target for check in disabled if check.kind == "custom_call"}
    unknown = sorted({target for target in targets if not _STABLE.fullmatch(target)})
    python = [target for target in unknown if _PYTHON.fullmatch(target)]
    if python and not (only_made and let_through.issuperset(python)):
        raise ValueError(
            f"{name} calls {', '.join(python)}: functions of Python are those of the process that made the program "
            "(callbacks to Python never are where it is run)"
        )
    unknown = [target for target in unknown if target not in let_through]
    if unknown:
        raise ValueError(
            f"{name} calls {', '.join(unknown)}, which need not be there, or mean the same, where the program "
            "is run. If it is, declare that when exporting: "
            f"disabled_checks=[DisabledSafetyCheck.custom_call({unknown[0]!r})]"
        )


# --- `Exported`: a program as StableHLO, with all that is needed to call it -------------------------------------------


oldest_convention = 9
newest_convention = 10
NUMPY = "numpy"
_filled = JaxprCache()
register_cache(_filled.clear)


@class_boundary
@exact_equality
@dataclass(frozen=True, eq=False)
class Exported:
    """A function as StableHLO, for arguments of certain types; made by `export` or `deserialize`.

    Attributes:
        fun_name: the name of the function.
        in_tree, in_avals: the structure of `(positional arguments, keyword arguments)`, and the types of its leaves,
            whose shapes may have symbolic dimensions.
        out_tree, out_avals: the same of the result.
        platforms: the platforms that it is for: "cpu", "cuda", "tpu", ...
        mlir_module_serialized: the module, as a portable artifact of StableHLO.
        calling_convention_version: how its function `main` is called; that of `jax.export`.
        nr_devices: how many devices it runs on.
        in_shardings, out_shardings: how each argument and each result is sharded over them, as `SavedSharding`; None
            where there is none. `in_shardings_jax` and `out_shardings_jax` make those of a mesh.
        disabled_safety_checks: checks that its author turned off.
        ordered_effects, unordered_effects: what it does beside its results.
        module_kept_var_idx: the positions of the arguments that `main` takes: all of them.
        uses_global_constants: whether `main` needs to know the platform, of several, or sizes that it is called with.
        program_serialized: the program for the platform "numpy", as `tangrad.runtime` writes it; empty without that.
    """

    fun_name: str
    in_tree: PyTreeDef
    in_avals: tuple[ShapedArray, ...]
    out_tree: PyTreeDef
    out_avals: tuple[ShapedArray, ...]
    platforms: tuple[str, ...]
    mlir_module_serialized: bytes = field(repr=False)
    calling_convention_version: int = newest_convention
    nr_devices: int = 1
    disabled_safety_checks: tuple[DisabledSafetyCheck, ...] = ()
    in_shardings: tuple[SavedSharding | None, ...] = ()
    out_shardings: tuple[SavedSharding | None, ...] = ()
    ordered_effects: tuple[object, ...] = ()
    unordered_effects: tuple[object, ...] = ()
    module_kept_var_idx: tuple[int, ...] = ()
    uses_global_constants: bool = False
    program_serialized: bytes = field(default=b"", repr=False)
    _program: ClosedJaxpr | None = field(default=None, repr=False)
    _get_vjp: Callable[[Exported], Exported] | None = field(default=None, repr=False)
    _plan: Plan | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        version = self.calling_convention_version
        if not oldest_convention <= version <= newest_convention:
            raise ValueError(
                f"{self.fun_name} was exported with calling convention {version}; supported are those from "
                f"{oldest_convention} to {newest_convention}"
            )
        store = object.__setattr__
        count = len(self.in_avals)
        store(self, "module_kept_var_idx", self.module_kept_var_idx or tuple(range(count)))
        store(self, "in_shardings", tuple(self.in_shardings) or (None,) * count)
        store(self, "out_shardings", tuple(self.out_shardings) or (None,) * len(self.out_avals))
        if self._plan is None:
            store(
                self,
                "_plan",
                plan([aval.shape for aval in self.in_avals], argument_labels(self.in_tree, self.in_avals)),
            )

    def __eq__(self, other: object) -> bool:
        return type(other) is Exported and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        """What distinguishes programs: names of variables count, their scopes do not."""
        avals = str(self.in_avals), str(self.out_avals)
        trees = self.in_tree, self.out_tree
        programs = self.mlir_module_serialized, self.program_serialized
        shardings = self.nr_devices, self.in_shardings, self.out_shardings
        return self.fun_name, trees, avals, self.platforms, self.has_vjp(), programs, shardings

    def serialize(self, vjp_order: int = 0) -> bytes:
        """The program as bytes, which `deserialize` reads; docs/export.md has the format.

        `vjp_order`: how often it can be differentiated when it is read back.

        Raises ArgumentError for structures of arguments that have no form in files, ValueError without the derivatives
        wanted.
        """
        return serialize(self, vjp_order)

    def mlir_module(self) -> str:
        """The module as text. Raises ValueError for a program for NumPy alone, which has none."""
        if not self.module_platforms:
            raise ValueError(f"{self.fun_name} was exported for {NUMPY} alone, and has no module")
        xla: Any = get_backend("xla")
        return xla.module_text(self.mlir_module_serialized)

    # --- shardings --------------------------------------------------------------------------------------------------

    def in_shardings_jax(self, mesh: Mesh | AbstractMesh) -> tuple[Sharding | None, ...]:
        """The shardings of the flat arguments over the devices of a mesh, for `device_put` and `jit`.

        Raises ValueError for a mesh of another number of devices, and for the shape of a mesh that is another one.
        """
        return tuple([over_mesh(sharding, mesh) for sharding in self.in_shardings])

    def out_shardings_jax(self, mesh: Mesh | AbstractMesh) -> tuple[Sharding | None, ...]:
        """The same of the flat results."""
        return tuple([over_mesh(sharding, mesh) for sharding in self.out_shardings])

    @property
    def in_shardings_hlo(self) -> tuple[Any, ...]:
        """The shardings of the flat arguments as jaxlib's objects; None where there is none. It takes XLA."""
        return _hlo(self.in_shardings, self.in_avals, self.nr_devices)

    @property
    def out_shardings_hlo(self) -> tuple[Any, ...]:
        """The same of the flat results."""
        return _hlo(self.out_shardings, self.out_avals, self.nr_devices)

    # ----------------------------------------------------------------------------------------------------------------

    @property
    def module_platforms(self) -> tuple[str, ...]:
        """The platforms that the module is for: all but "numpy"."""
        return tuple([platform for platform in self.platforms if platform != NUMPY])

    # --- calling ----------------------------------------------------------------------------------------------------

    def call(self, *args: PyTree, **kwargs: PyTree) -> PyTree:
        """Run the program; also within functions that are jitted, exported or, where it has a vjp, differentiated.

        Raises:
            ArgumentError: for arguments of another structure or dtype; it is a TypeError and a ValueError.
            ValueError: for shapes that do not fit, naming the argument, the dimension and both sizes; for a platform
                that the program was not exported for.
        """
        leaves, structure = tree.flatten((args, kwargs))
        if structure != self.in_tree:
            raise ArgumentError(f"{self.fun_name} was exported for arguments {self.in_tree}, got {structure}")
        operands = [as_operand(leaf) for leaf in leaves]
        return self.out_tree.unflatten(call_exported_p.bind(*operands, exported=self))

    def results_for(self, avals: Sequence[ShapedArray]) -> tuple[ShapedArray, ...]:
        """The types of the results for flat arguments of these types. Raises as `call` does."""
        assert self._plan is not None
        for label, given, expected in zip(self._plan.labels, avals, self.in_avals, strict=True):
            if given.dtype != expected.dtype:
                raise ArgumentError(
                    f"{self.fun_name}: Dtype mismatch for {label}, which is {expected.str_short()} in the exported "
                    f"program, got {given.str_short()}"
                )
        try:
            sizes = self._plan.sizes([aval.shape for aval in avals])
        except ValueError as error:
            error.args = (f"{self.fun_name}: {error}",)
            raise
        return tuple([ShapedArray(evaluate_shape(out.shape, sizes), out.dtype) for out in self.out_avals])

    def program_for(self, avals: Sequence[ShapedArray]) -> ClosedJaxpr:
        """The program on NumPy, for flat arguments of these types. Raises as `call` does."""
        self.check_platform(NUMPY)
        self.results_for(avals)
        assert self._plan is not None and self._program is not None
        dimension = first_symbolic(self._program.in_avals)
        if dimension is None:
            return self._program
        sizes = self._plan.sizes([aval.shape for aval in avals])
        return _filled.get(self._program, tuple(sizes.items()), lambda: dimension.filled_in(self._program, sizes))

    def check_platform(self, platform: str) -> None:
        """Raise ValueError for a platform that it was not exported for, unless that check is turned off: then a module
        for one platform is taken for another."""
        turned_off = DisabledSafetyCheck.platform() in self.disabled_safety_checks
        if platform not in self.platforms and not (turned_off and self.module_platforms and platform != NUMPY):
            raise ValueError(
                f"{self.fun_name} was exported for {', '.join(self.platforms)}, and is called on {platform}; export it "
                f"with platforms={[*self.platforms, platform]}"
            )

    def check_contents(self, operations: Iterable[str], targets: Iterable[str]) -> None:
        """Raise ValueError for a module with what `export` refuses; see `checks`. Asked of files, and at each call."""
        check_contents(self.fun_name, operations, targets, self.disabled_safety_checks)

    # --- derivatives ------------------------------------------------------------------------------------------------

    def has_vjp(self) -> bool:
        """Whether the program can be differentiated."""
        return self._get_vjp is not None

    def vjp(self) -> Exported:
        """The program of the vector-Jacobian product: from the arguments and the cotangents of the results, all flat,
        to the cotangents of the arguments.

        Raises ValueError for one that was written to a file without it.
        """
        if self._get_vjp is None:
            raise ValueError(
                f"{self.fun_name} has no derivative: it was written without one; serialize(vjp_order=1) writes one, "
                "and higher orders those of derivatives"
            )
        return self._vjp

    @cached_property
    def _vjp(self) -> Exported:
        assert self._get_vjp is not None
        return self._get_vjp(self)

    def second_vjp(self) -> Exported:
        """The vector-Jacobian product of `vjp()`, which derivatives forwards take. Raises as that does."""
        first = self.vjp()
        if not first.has_vjp():
            raise ValueError(
                f"{self.fun_name} has derivatives backwards alone (grad, vjp), and not forwards (jvp, linearize): "
                "those take one of the second order, which serialize(vjp_order=2) writes"
            )
        return first.vjp()


def _hlo(shardings: Sequence[SavedSharding | None], avals: Sequence[ShapedArray], count: int) -> tuple[Any, ...]:
    backend: Any = get_backend("xla") if any(shardings) else None
    numbers: Any = range(count)  # in place of devices
    return tuple(
        [
            None if sharding is None else backend.hlo_sharding(sharding.on(numbers), numbers, aval.ndim)
            for sharding, aval in zip(shardings, avals, strict=True)
        ]
    )


def argument_labels(in_tree: PyTreeDef, avals: Sequence[ShapedArray]) -> list[str]:
    """What the flat arguments, of these types, are called in messages: `args[0]`, `kwargs['x']`."""
    paths = tree.flatten_with_path(in_tree.unflatten(avals))[0]  # nodes of users may look at the shapes of leaves
    return [argument_label(path) for path, _ in paths]


def argument_label(path: Sequence[Any]) -> str:
    """What the argument at a path of `(positional arguments, keyword arguments)` is called."""
    return ("args", "kwargs")[path[0].idx] + "".join(map(str, path[1:]))
