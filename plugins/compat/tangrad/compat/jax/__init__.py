"""The name `jax` for Tangrad, where a program asks for it: packages that import `jax` then run unchanged.

Once `install()` was called, `import jax`, `jax.numpy` and the others give modules whose names are Tangrad's. Nothing
installs them by default. `python -m tangrad.compat.jax program.py` runs a program so.

What is not there raises ImportError or AttributeError, with what is missing and that it is missed in the alias. Of
jax's private modules there are those names that packages of the field use (`names/private.py`), where they make sense.
"""

from tangrad._compat.finder import Installation, install, is_installed, uninstall
from tangrad._compat.names import __version__ as VERSION  # noqa: N812 - a constant

__all__ = ["VERSION", "Installation", "install", "is_installed", "uninstall"]
