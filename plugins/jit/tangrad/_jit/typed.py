"""What type checkers know of the options of `jit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict


class JitOptions(TypedDict, total=False):
    static_argnums: int | Sequence[int] | None
    static_argnames: str | Sequence[str] | None
    donate_argnums: int | Sequence[int] | None
    donate_argnames: str | Sequence[str] | None
    keep_unused: bool
    device: Any
    backend: str | None
    inline: bool
    in_shardings: Any
    out_shardings: Any
    abstracted_axes: Any
    compiler_options: Mapping[str, Any] | None
    compile_regions: str | bool | None
    compile_effort: Literal["full", "fast"] | None
