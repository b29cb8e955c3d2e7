"""Compiled programs as bytes."""

from __future__ import annotations

from typing import Any

from tangrad._export.compiled.container import packed
from tangrad._export.exported import NUMPY, argument_labels
from tangrad._export.programs import written_program
from tangrad._export.structures import described_tree
from tangrad._export.writing import described_aval
from tangrad.core.arguments import is_symbolic
from tangrad.extend.runtime import portable_program
from tangrad.stages import Compiled


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
    program, closed = compiled._program, compiled._traced.jaxpr
    _check(compiled, closed)
    if compiled._backend.name == NUMPY:
        facts, data = {}, written_program(portable_program(closed), argument_labels(compiled.in_tree))
    elif hasattr(compiled._backend, "store_program"):
        facts, data = compiled._backend.store_program(program.executable)
    else:
        raise NotImplementedError(f"the backend {compiled._backend.name!r} does not write its programs")
    description = {
        "backend": compiled._backend.name,
        "name": compiled._name,
        "in_tree": described_tree(compiled.in_tree),
        "in_avals": [described_aval(aval) for aval in closed.in_avals],
        "out_tree": described_tree(compiled.out_tree),
        "out_avals": [described_aval(aval) for aval in closed.out_avals],
        "kept": None if program.kept is None else list(program.kept),
        **facts,
    }
    return packed(description, data, key)


def _check(compiled: Compiled, closed: Any) -> None:
    name = compiled._name
    if compiled._traced.outer:
        raise NotImplementedError(f"serialize: {name} uses values of a function that is being traced around it")
    if closed.effects:
        effects = ", ".join(sorted(map(str, closed.effects)))
        raise NotImplementedError(f"serialize: {name} has effects ({effects}), which files do not have")
    if any([is_symbolic(size) for aval in (*closed.in_avals, *closed.out_avals) for size in aval.shape]):
        raise NotImplementedError(f"serialize: {name} has sizes that are no numbers; export it instead")
