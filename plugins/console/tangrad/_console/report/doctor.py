"""The report of `tangrad doctor`: what is installed, what surrounds it, and every problem it finds, with its cure."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from tangrad._console.report import backends, composed, installation, surroundings
from tangrad._console.report.model import BAD, LINE, Entry, Problem, Report, Table, counted, one_line
from tangrad._console.report.rules import overrides, overrides_table, squares
from tangrad.core.tools import Composition

if TYPE_CHECKING:
    pass


def doctor_report(composition: Composition) -> Report:
    """Return the state of the installation. Every plugin is loaded and every backend started for it."""
    installed = installation.distributions(composition)
    found, backend_problems = backends.examine(composition)
    problems = [
        *backend_problems,
        *_asked("requirements", lambda: installation.requirement_problems(installed)),
        *_asked("releases", lambda: installation.release_problems([one.name for one in installed])),
        *_asked("metadata", lambda: installation.metadata_problems(composition)),
        *_asked("entry points", lambda: installation.unseen_entries(composition)),
        *_asked("plugins", lambda: composed.plugin_problems(composition)),
        *_asked("extension API", lambda: composed.number_problems(composition)),
        *_asked("conflicts", lambda: composed.conflicts(composition)),
        *_asked("rules", composed.rule_problems),
        *_asked("names of entries", lambda: composed.entry_problems(composition)),
        *_asked("allow and deny lists", lambda: surroundings.list_problems(composition)),
        *_asked("stubs", lambda: surroundings.stub_problems(composition)),
        *_asked("Python's options", installation.isolated),
    ]
    # After the plugins, which may define settings of their own, are loaded.
    variables, caches = surroundings.variables(os.environ), surroundings.caches(os.environ)
    problems += [*surroundings.variable_problems(variables), *surroundings.cache_problems(caches)]
    tables = [
        _problems_table(problems),
        backends.table(found),
        installation.versions_table(installed),
        installation.releases_table([one.name for one in installed]),
        installation.distributions_table(composition, installed),
        surroundings.caches_table(caches),
        surroundings.variables_table(variables),
        surroundings.lists_table(composition),
        overrides_table(squares()[0]),
    ]
    data: dict[str, object] = {
        "versions": installation.versions(installed),
        "releases": installation.release_facts([one.name for one in installed]),
        "distributions": [_facts(one) for one in installed],
        "backends": found,
        "caches": [cache._asdict() for cache in caches],
        "environment": [variable._asdict() for variable in variables],
        "lists": [{"from": source, "what": text} for source, text in surroundings.decisions(composition.policy)],
        "overrides": overrides(squares()[0]),
        "problems": [problem._asdict() for problem in problems],
    }
    verdict = f"{counted(len(problems), 'problem')} found." if problems else "No problems found."
    shown = [table for table in tables if table.rows]
    lines = [] if found else [backends.NONE_INSTALLED]
    return Report("Doctor", lines, shown, data, succeeded=not problems, verdict=verdict)


def _asked(about: str, question: Callable[[], Iterable[Problem]]) -> list[Problem]:
    """What an examination finds; one that fails is itself a finding, and the others go on."""
    try:
        return list(question())
    except Exception as error:  # whatever plugins and metadata do: the rest of the report is needed all the more
        what = f"the {about} could not be examined: {type(error).__name__}: {one_line(error, 300)}"
        return [Problem(what, "cure the other problems first; if this one stays, report it")]


def _problems_table(problems: list[Problem]) -> Table:
    rows = [[Entry(one_line(one.what, 600), BAD), Entry(one.cure), Entry(one.paste, LINE)] for one in problems]
    return Table("Problems", ["problem", "cure", "to paste"], rows, long=True)


def _facts(one: installation.Installed) -> dict[str, object]:
    needs = [requirement.name + requirement.versions for requirement in one.requirements]
    return {"name": one.name, "version": one.version, "location": one.location, "needs": needs, "python": one.python}
