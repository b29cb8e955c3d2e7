"""Puts the alias in the way of `import jax`, and takes it away again."""

from __future__ import annotations

import sys

from tangrad._compat.finder import ROOTS, AliasFinder, AliasModule
from tangrad.core import class_boundary


@class_boundary
class Installation:
    """What `install` returns; as a context manager it takes the alias away at the end of the block."""

    __slots__ = ("_undone",)

    def __init__(self, undone: bool = False) -> None:
        self._undone = undone

    def undo(self) -> None:
        """Take the alias away, if this call of `install` put it there; a second call does nothing."""
        if not self._undone:
            self._undone = True
            uninstall()

    def __enter__(self) -> Installation:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()

    def __repr__(self) -> str:
        return f"<alias of jax, {'installed' if is_installed() else 'not installed'}>"


def install() -> Installation:
    """Have `import jax` mean Tangrad, in this process, from now on.

    A jax that is installed beside it is not touched, and not found while the alias is there. A real `jaxlib` stays what
    it is; where none is installed, `import jaxlib` gives a module that knows its version.

    Returns:
        An object whose `undo()` takes the alias away, also as a context manager. Where the alias was there before, it
        does nothing.

    Raises:
        ImportError: jax itself is imported already.

    Example:
        >>> import tangrad.compat.jax
        >>> with tangrad.compat.jax.install():
        ...     import jax.numpy as jnp
        ...     from jax import grad
        >>> grad(jnp.sin)(0.0)
        Array(1., dtype=float32, weak_type=True)
    """
    if is_installed():
        return Installation(undone=True)
    theirs = [name for name in sys.modules if name.partition(".")[0] == "jax" and not _is_alias(name)]
    if theirs:
        where = getattr(sys.modules[min(theirs, key=len)], "__file__", None)
        raise ImportError(
            f"jax itself is imported already (from {where}), and what holds its functions would not see the alias: "
            "call tangrad.compat.jax.install() before anything imports jax",
            name="jax",
        )
    sys.meta_path.insert(0, AliasFinder)
    return Installation()


def uninstall() -> None:
    """Take the alias away: `import jax` means again what it meant before. Without an alias it does nothing.

    Modules that imported names of the alias keep them.

    >>> import tangrad.compat.jax
    >>> installation = tangrad.compat.jax.install()
    >>> tangrad.compat.jax.uninstall()
    >>> tangrad.compat.jax.is_installed()
    False
    """
    if AliasFinder in sys.meta_path:
        sys.meta_path.remove(AliasFinder)
    for name in [name for name in sys.modules if name.partition(".")[0] in ROOTS and _is_alias(name)]:
        del sys.modules[name]


def is_installed() -> bool:
    """Whether `import jax` means Tangrad now.

    >>> import tangrad.compat.jax
    >>> tangrad.compat.jax.is_installed()
    False
    """
    return AliasFinder in sys.meta_path


def _is_alias(name: str) -> bool:
    return isinstance(sys.modules[name], AliasModule)
