"""How mapped programs are put on meshes, and the settings that choose.

- SPMD: the compiler gets the shardings of the named dimensions of arguments and results, and partitions the program.
- Manual: every device runs the program of its parts, with the collectives that the program then needs.
- Replicated: as manual, but every device is given whole arguments, of which it takes its parts, and gathers results.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tangrad.core import thread
from tangrad.core.settings import define_setting

SPMD, MANUAL, REPLICATED = "spmd", "manual", "replicated"
_WORDS = {"1": True, "true": True, "on": True, "0": False, "false": False, "off": False}
_BY_PARTITIONING, _BY_HAND = "experimental_xmap_spmd_lowering", "experimental_xmap_spmd_lowering_manual"


class _Tracing(threading.local):
    """How many mapped functions a thread is tracing, and the mesh of the innermost."""

    depth: int = 0
    mesh: Any = None


_tracing = _Tracing()


@contextmanager
def tracing_for(mesh: Any) -> Iterator[None]:
    """A mapped function is traced meanwhile: neither the mesh nor the settings may change."""
    around = _tracing.mesh
    _tracing.depth, _tracing.mesh = _tracing.depth + 1, mesh
    try:
        yield
    finally:
        _tracing.depth, _tracing.mesh = _tracing.depth - 1, around


def check_same_mesh(mesh: Any) -> None:
    """Raise RuntimeError where the mesh in use is another one than around the mapped function that is traced."""
    if _tracing.depth and _tracing.mesh != mesh:
        raise RuntimeError(
            f"xmap: the mesh in use must stay the same within a mapped function: it was {_tracing.mesh} around, and is "
            f"{mesh} now"
        )


def _parse(text: str) -> bool:
    try:
        return _WORDS[text.strip().lower()]
    except KeyError:
        raise ValueError(f"expected one of {', '.join(_WORDS)}") from None


def _checked(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("expected True or False")
    if _tracing.depth:
        raise RuntimeError("the lowering of xmap cannot change while a mapped function is traced")
    return value


def _checked_spmd(value: Any) -> bool:
    if not _checked(value) and getattr(thread, _BY_HAND, False):
        raise ValueError(f"{_BY_HAND} needs it; switch that off first")
    return bool(value)


def _checked_manual(value: Any) -> bool:
    if _checked(value) and not getattr(thread, _BY_PARTITIONING, True):
        raise ValueError(f"it needs {_BY_PARTITIONING}; switch that on first")
    return bool(value)


spmd_lowering = define_setting(
    _BY_PARTITIONING,
    True,
    "Whether xmap hands each device its parts of arguments; else each gets them whole, and gathers the results.",
    parse=_parse,
    check=_checked_spmd,
    changes_results=True,
)
manual_lowering = define_setting(
    _BY_HAND,
    False,
    "Whether xmap writes the collectives between devices itself; else the compiler partitions the program.",
    parse=_parse,
    check=_checked_manual,
    changes_results=True,
)


def chosen_lowering() -> str:
    """What the settings choose."""
    if not getattr(thread, _BY_PARTITIONING):
        return REPLICATED
    return MANUAL if getattr(thread, _BY_HAND) else SPMD
