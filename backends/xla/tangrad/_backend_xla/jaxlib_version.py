"""Which releases of jaxlib the backend is tested with, and the errors for another one, a broken one, and none.

A newer one than the tested ones is warned of once, and tried with a program of no operations before any of the user's
(whatever it no longer takes comes up there). What cannot work is an `UnusableJaxlibError`: its message names what was
found, the releases that do, and the line to paste. The kernel then takes the next backend, unless XLA was asked for.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from types import TracebackType

# The bounds of the distribution's requirement, whose ends `make test-matrix` runs; a test compares them.
OLDEST = (0, 10)
NEWEST = (0, 12)
REQUIREMENT = f"jaxlib>={OLDEST[0]}.{OLDEST[1]},<{NEWEST[0]}.{NEWEST[1] + 1}"
TESTED = f"{OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}"


class UnusableJaxlibError(ImportError):
    """There is no jaxlib, or one that the backend cannot work with; chained to what it failed with."""


class UntestedJaxlibWarning(UserWarning):
    """jaxlib is newer than the releases that the backend is tested with."""


def release_of(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version.

    >>> release_of("0.12.0.1"), release_of("0.13rc1"), release_of("unknown")
    ((0, 12), (0, 13), ())
    """
    numbers = []
    for part in version.split(".")[:2]:
        digits = part[: next((i for i, character in enumerate(part) if not character.isdigit()), len(part))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)


def is_untested(version: str) -> bool:
    """Whether a release is newer than those that are tested."""
    return release_of(version) > NEWEST


def refuse_older(version: str, folders: Sequence[str]) -> None:
    """Raise UnusableJaxlibError for a release before the oldest that works, or of which parts are gone.

    Args:
        folders: where the modules of the package are looked for: its `__path__`.
    """
    if release_of(version) < OLDEST:
        raise UnusableJaxlibError(_message("it is too old", version, folders[0]), name="jaxlib")
    # Looked for here because it is imported with the first program only, when it is late to take another backend.
    if not any([os.path.isdir(os.path.join(folder, "mlir", "_mlir_libs")) for folder in folders]):
        message = _message(f"{_HALF_REMOVED} (no folder mlir)", version, folders[0], anew=True)
        raise UnusableJaxlibError(message, name="jaxlib")


def try_out(version: str, attempt: Callable[[], None]) -> None:
    """For a release that is newer than the tested ones: warn, once the attempt has shown that it may work."""
    if not is_untested(version):
        return
    with explained:
        attempt()
    warnings.warn(
        f"jaxlib {version} is newer than the releases that this XLA backend is tested with, {TESTED}; a first program "
        f'ran, and it is used. If it fails: pip install "{REQUIREMENT}", or a newer tangrad-backend-xla',
        UntestedJaxlibWarning,
        stacklevel=2,
    )


class _Explained:
    """A `with` block in which jaxlib is imported: what goes wrong is raised as an `UnusableJaxlibError`."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: TracebackType | None) -> None:
        if isinstance(error, Exception) and not isinstance(error, (UnusableJaxlibError, Warning)):
            raise explanation(error) from error


explained = _Explained()

_HALF_REMOVED = "parts of it are missing, as if it was half removed"


def explanation(error: Exception) -> UnusableJaxlibError:
    """The error that states what can be done about `error`, which importing or trying jaxlib raised."""
    version, folder = _found()
    what, anew = _what_is_wrong(error, version, folder)
    cause = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    return UnusableJaxlibError(_message(f"{what} ({cause})", version, folder, anew), name="jaxlib")


def _what_is_wrong(error: Exception, version: str | None, folder: str | None) -> tuple[str, bool]:
    """In words, and whether pip needs `--force-reinstall`: it takes what is there for complete."""
    if folder is None:
        return "it is not installed", False
    if version is not None and release_of(version) < OLDEST:
        return "it is too old", False
    if version is not None and is_untested(version):
        return "it is newer than those, and no longer has what the backend uses", False
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] != "jaxlib":
        return f"it needs {error.name}, which is not installed", True
    if isinstance(error, (ModuleNotFoundError, AttributeError)) or "cannot import name" in str(error):
        return _HALF_REMOVED, True
    return f"it does not load on this platform, {_platform()}", True


def _message(what: str, version: str | None, folder: str | None = None, anew: bool = False) -> str:
    found = "found none" if version is folder is None else f"found {version or 'one of an unknown release'}"
    where = "" if folder is None else f" in {folder}"
    force = "--force-reinstall " if anew else ""
    return (
        f"the XLA backend needs jaxlib {TESTED}, {found}{where}: {what}. To cure it: "
        f'pip install {force}"{REQUIREMENT}". The NumPy backend works without: TANGRAD_BACKEND=numpy'
    )


def _found() -> tuple[str | None, str | None]:
    """The version of jaxlib that its metadata name, and the folder that Python takes it from; None where unknown."""
    from importlib import metadata
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("jaxlib")
    folder = next(iter(spec.submodule_search_locations or ()), None) if spec is not None else None
    module = sys.modules.get("jaxlib.version")
    version = getattr(module, "__version__", None)
    if version is None and folder is not None:
        try:
            version = metadata.version("jaxlib")
        except Exception:  # removed, or damaged
            version = None
    return version, folder


def _platform() -> str:
    import platform

    return (
        f"{platform.system()} {platform.machine()} with {platform.python_implementation()} {platform.python_version()}"
    )
