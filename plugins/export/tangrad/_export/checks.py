"""The checks of exporting and calling that users may turn off."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tangrad.core import class_boundary


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
