"""The checks of exporting and calling that users may turn off."""

from __future__ import annotations

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
STABLE_TARGETS = frozenset(
    {
        *("shape_assertion", "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape"),
        *("LuDecomposition", "Qr", "ProductOfElementaryHouseholderReflectors", "Eigh"),
    }
)
STABLE_PREFIXES = ("stablehlo.", "lapack_", "cu_", "cusolver_", "cublas_", "cusparse_", "chlo.", "mhlo.")


def check_custom_calls(name: str, targets: set[str], disabled: tuple[DisabledSafetyCheck, ...]) -> None:
    """Raise ValueError for custom calls that another process, or another release, may not have."""
    let_through = {check.target for check in disabled if check.kind == "custom_call"}
    unknown = sorted(
        target for target in targets - STABLE_TARGETS - let_through if not target.startswith(STABLE_PREFIXES)
    )
    if unknown:
        raise ValueError(
            f"export: {name} calls {', '.join(unknown)}, which need not be there, or mean the same, where the program "
            "is run (callbacks to Python never are). If it is, say so: "
            f"disabled_checks=[DisabledSafetyCheck.custom_call({unknown[0]!r})]"
        )
