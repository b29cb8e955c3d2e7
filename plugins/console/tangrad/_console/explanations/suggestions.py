"""What an error about a name that does not exist suggests: the same name elsewhere, another library's, a close one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import lru_cache

from tangrad._console.explanations import catalogue
from tangrad._console.explanations.elsewhere import ATTRIBUTES, FUNCTIONS, LAYERS, LAYERS_ARE, WITHIN

_ROOT = "tangrad."
_CLOSE, _VERY_CLOSE = 0.65, 0.85  # the second where there is something better to say
_MOST = 3


def for_module(module_name: str, name: str, known: Iterable[str]) -> str:
    """Return the end of the error for a name that a public module lacks, or "".

    Args:
        module_name: the public module, `tangrad.numpy`.
        name: the name that was asked for.
        known: the names that the module has.

    >>> for_module("tangrad.numpy", "relu", ["real", "ravel"])
    "; did you mean 'tangrad.nn.relu'?"
    >>> for_module("tangrad.numpy", "cat", [])
    "; did you mean 'tangrad.numpy.concatenate'?"
    """
    if name in LAYERS:
        return LAYERS_ARE
    other = WITHIN.get(f"{module_name}.{name}") or FUNCTIONS.get(name) or FUNCTIONS.get(name.lower())
    elsewhere = [other] if other is not None else _in_public_modules(module_name, name)
    return _question(elsewhere, _close(name, known, bool(elsewhere)))


@lru_cache(maxsize=256)  # libraries ask arrays for attributes that these do not have, again and again
def for_array(name: str, known: Callable[[], Iterable[str]], version: int = 0) -> str:
    """Return the end of the error for an attribute that arrays lack, or "".

    Args:
        name: the attribute that was asked for.
        known: returns the attributes that arrays have.
        version: of what `known` returns.

    >>> for_array("unsqueeze", lambda: ["squeeze"])
    "; did you mean 'tangrad.numpy.expand_dims(x, axis)' or 'squeeze'?"
    >>> for_array("exp", lambda: ["sum"])
    "; did you mean 'tangrad.numpy.exp(x)'?"
    """
    other = ATTRIBUTES.get(name) or ATTRIBUTES.get(name.rstrip("_"))
    if other is not None:
        elsewhere = [other]
    elif name.endswith("_") and name.rstrip("_"):  # PyTorch's updates in place
        elsewhere = ["x = " + one for one in _functions_of_arrays(name.rstrip("_"))]
    else:
        elsewhere = _functions_of_arrays(name)
    return _question(elsewhere, _close(name, known(), bool(elsewhere)))


def _functions_of_arrays(name: str) -> list[str]:
    places = ("numpy", "numpy.linalg", "nn", "lax")
    public = set(catalogue.public_names())
    return [f"{_ROOT}{place}.{name}(x)" for place in places if f"{place}.{name}" in public][:1]


def _in_public_modules(module_name: str, name: str) -> list[str]:
    """Return the public names that end in `name`, in whatever case, those nearest to the top first."""
    wanted = _folded(name)
    names = {_ROOT + one for one in catalogue.public_names()}
    modules = {one.rpartition(".")[0] for one in names} - {"tangrad"}
    found = [one for one in names | modules if _folded(one.rpartition(".")[2]) == wanted]
    exact = [one for one in found if one.rpartition(".")[2] == name] or found
    nearest = sorted(exact, key=lambda one: (not one.startswith(module_name), one.count("."), _later(one), one))
    return [one.rpartition(".")[2] if one.rpartition(".")[0] == module_name else one for one in nearest[:_MOST]]


def _later(name: str) -> bool:
    """Return whether a name is in a module that is suggested after the others: copies of JAX's names, and the like."""
    return name.startswith(("tangrad.compat", "tangrad.experimental", "tangrad.example_libraries", "tangrad.core"))


def _folded(name: str) -> str:
    return name.replace("_", "").lower()


def _close(name: str, known: Iterable[str], very: bool) -> list[str]:
    return get_close_matches(name, known, n=_MOST, cutoff=_VERY_CLOSE if very else _CLOSE)


def _question(*suggestions: list[str]) -> str:
    unique = dict.fromkeys(one for some in suggestions for one in some)
    return f"; did you mean {' or '.join(map(repr, unique))}?" if unique else ""
