"""What `tangrad doctor` reports of backends. Each is started, given an array and a program, asked for its devices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._console.report import model
from tangrad._console.report.model import BAD, GOOD, WARNING, Entry, Problem, Table, one_line
from tangrad.core import ShapedArray, backend_names, get_backend, put, thread, trace_to_closed_jaxpr
from tangrad.core.backends import CompileOptions
from tangrad.core.tools import Composition
from tangrad.errors import PluginConflictError

if TYPE_CHECKING:
    from tangrad.core import Array

# No problem: programs can be traced, transformed and exported for others to run.
NONE_INSTALLED = (
    "No backend is installed: programs can be traced, not run. To run them: pip install tangrad-backend-numpy"
)

_TONES = {"works": GOOD, "denied": WARNING}


def examine(composition: Composition) -> tuple[list[dict[str, Any]], list[Problem]]:
    """Return facts about each installed backend, and what is wrong with them."""
    found: list[dict[str, Any]] = []
    problems: list[Problem] = []
    for name in backend_names():
        found.append({"name": name, "distribution": "", "state": "does not start", "usable": False, "devices": []})
        try:
            found[-1] |= _examined(composition, name)
        except PluginConflictError:
            continue  # reported among the conflicts
        except Exception as error:  # a third party's code; a driver that is not there
            problems.append(_does_not_start(name, one_line(error, 600)))
    usable = [facts for facts in found if facts["usable"]]
    if found or thread.backend is not None:
        problems += _default_problems(found, usable)
    for facts in found:
        facts["default"] = facts["usable"] and facts["name"] == _default_name()
    return found, problems


def _does_not_start(name: str, why: str) -> Problem:
    """What is missing is to be installed; whatever else is wrong, the others can be used."""
    what, missing = f"backend {name!r} does not start: {why}", re.search(r"pip install '(tangrad\[[\w,]+\])'", why)
    if missing is not None:
        return Problem(what, "install it, or unset TANGRAD_XLA_PLATFORMS", f'pip install "{missing[1]}"')
    return Problem(what, "until it does go without it", model.deny(f"*:backends:{name}"))


def _examined(composition: Composition, name: str) -> dict[str, object]:
    plugin = composition.find("tangrad.backends", name)
    if plugin is not None and plugin.denial is not None:
        return {"distribution": plugin.distribution, "state": "denied"}
    backend = get_backend(name)
    shipped = "" if plugin is None else f"{plugin.distribution} {plugin.version}".strip()
    facts = {
        "distribution": shipped,
        "platform": backend.platform,
        "devices": [str(device) for device in backend.devices()],
    }
    expected = np.arange(3, dtype=np.float32)
    array = put(expected, backend=name)
    _check(array, expected, "it does not give back the array that it was given")
    program = trace_to_closed_jaxpr(lambda x: (x,), (ShapedArray((3,), expected.dtype),))
    (result,) = backend.compile(program, CompileOptions("doctor")).execute([array])
    _check(result, expected, "a program that returns its argument returns something else")
    return facts | {"usable": True, "state": "works"}


def _check(array: Array, expected: np.ndarray, complaint: str) -> None:
    if not np.array_equal(array.to_numpy(), expected):
        raise RuntimeError(complaint)


def _default_name() -> str | None:
    try:
        return get_backend().name
    except Exception:  # reported by `_default_problems`
        return None


def _default_problems(found: list[dict[str, object]], usable: list[dict[str, Any]]) -> list[Problem]:
    """The backend that is asked for must be there."""
    try:
        get_backend()
    except Exception as error:
        if found and not usable:
            return []  # each has reported why
        what, _, line = one_line(error, 600).partition(" Install one: ")
        if line and " or " not in line:
            return [Problem(what, "install it, or unset TANGRAD_BACKEND", line)]
        names = " or ".join(facts["name"] for facts in usable)
        cure = f"set TANGRAD_BACKEND to {names}, or unset it" if usable else "unset TANGRAD_BACKEND, or install it"
        return [Problem(one_line(error, 600), cure, model.unset("TANGRAD_BACKEND"))]
    return []


def table(found: list[dict[str, Any]]) -> Table:
    """The backends with their devices."""
    rows = []
    for facts in found:
        state = facts["state"] + (", the default" if facts["default"] else "")
        tone = _TONES.get(facts["state"], BAD)
        texts = (facts["distribution"], facts.get("platform", ""), ", ".join(facts["devices"]) or "none")
        rows.append([Entry(facts["name"]), Entry(state, tone), *map(Entry, texts)])
    return Table("Backends", ["backend", "state", "from", "platform", "devices"], rows)
