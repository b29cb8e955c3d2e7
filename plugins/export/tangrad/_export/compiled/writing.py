"""Compiled programs as bytes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tangrad._export.compiled.container import packed
from tangrad._export.compiled.storing import StoresPrograms
from tangrad._export.exported import NUMPY, argument_labels
from tangrad._export.programs import written_program
from tangrad._export.structures import described_tree
from tangrad._export.writing import described_aval
from tangrad.core.arguments import is_symbolic
from tangrad.extend.jit import parts_of
from tangrad.extend.runtime import portable_program
from tangrad.stages import Compiled

if TYPE_CHECKING:
    from tangrad.extend.jit import CompiledParts


def serialize_compiled(compiled: Compiled, *, key: bytes | None = None) -> bytes:
    """A compiled program as bytes, which `load_compiled` reads; `Compiled.serialize` is the same.

    Args:
        compiled: what `jit(f).lower(...).compile()` returned.
        key: at least 16 bytes that the reader has too, to show who wrote the file; None: a secret of this user's.

    Raises:
        TypeError: for anything else.
        NotImplementedError: for programs over several devices, with effects, or that call Python.
        ValueError: for structures that files do not have; for a key that is too short.

    >>> import tangrad
    >>> from tangrad import export
    >>> compiled = tangrad.jit(lambda x: [x, x]).lower(1.5).compile()
    >>> data = export.serialize_compiled(compiled, key=b"0123456789abcdef")
    >>> [float(x) for x in tangrad.load_compiled(data, key=b"0123456789abcdef")(1.5)]
    [1.5, 1.5]
    """
    if not isinstance(compiled, Compiled):
        raise TypeError(
            f"serialize_compiled takes what jit(f).lower(...).compile() returns, got a {type(compiled).__name__}"
        )
    parts = parts_of(compiled)
    closed, backend = parts.program, parts.backend
    _check(parts)
    if backend.name == NUMPY:
        facts: dict[str, Any] = {}
        data = written_program(portable_program(closed), argument_labels(compiled.in_tree))
    elif isinstance(backend, StoresPrograms):
        facts, data = backend.store_program(parts.executable)
    else:
        raise NotImplementedError(f"the backend {backend.name!r} does not write its programs")
    description = {
        "backend": backend.name,
        "name": parts.name,
        "in_tree": described_tree(compiled.in_tree),
        "in_avals": [described_aval(aval) for aval in closed.in_avals],
        "out_tree": described_tree(compiled.out_tree),
        "out_avals": [described_aval(aval) for aval in closed.out_avals],
        "kept": None if parts.kept is None else list(parts.kept),
        "donated": _where(parts.donated),
        "device": None if parts.device is None else parts.device.id,
        "weak": _where([aval.weak_type for aval in closed.out_avals]),
        **facts,
    }
    return packed(description, data, key)


def _where(flags: Iterable[bool]) -> list[int]:
    return [position for position, flag in enumerate(flags) if flag]


def _check(parts: CompiledParts) -> None:
    name, closed = parts.name, parts.program
    if parts.outer:
        raise NotImplementedError(f"serialize: {name} uses values of a function that is being traced around it")
    if closed.effects:
        effects = ", ".join(sorted(map(str, closed.effects)))
        raise NotImplementedError(f"serialize: {name} has effects ({effects}), which files do not have")
    if any([is_symbolic(size) for aval in (*closed.in_avals, *closed.out_avals) for size in aval.shape]):
        raise NotImplementedError(f"serialize: {name} has sizes that are no numbers; export it instead")
