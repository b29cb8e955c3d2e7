"""The report of `tangrad plugins`: every plugin there is, where it comes from, and whether it can be used."""

from __future__ import annotations

from typing import Any

from tangrad._console.report.model import BAD, GOOD, PLAIN, QUIET, WARNING, Entry, Key, Report, Sign, Table, one_line
from tangrad.core.tools import Composition, Plugin
from tangrad.errors import PluginError

TONES = {"available": PLAIN, "loaded": GOOD, "broken": BAD, "denied": WARNING, "dormant": QUIET}
_MEANINGS = {
    "available": "imported when it is first needed",
    "loaded": "imported",
    "broken": "set aside: it cannot be used",
    "denied": "excluded by an allow or deny list",
    "dormant": "what it serves (a family, a kind of rules, the conformance kit) is not installed",
}


def plugins_report(composition: Composition, group: str | None, distribution: str | None, load: bool) -> Report:
    """Return the list of plugins.

    Args:
        composition: where they are taken from.
        group: only this group (with or without `tangrad.`); None: all.
        distribution: only this distribution; None: all.
        load: import each one that is not dormant or denied, so that the broken ones show.
    """
    chosen = [
        plugin
        for plugin in all_plugins(composition)
        if group in (None, plugin.group, plugin.group.removeprefix("tangrad."))
        and distribution in (None, plugin.distribution)
    ]
    if load:
        load_all(chosen)
    counts = {status: sum(plugin.status == status for plugin in chosen) for status in TONES}
    summary = ", ".join(f"{count} {status}" for status, count in counts.items() if count) or "none"
    shippers = {plugin.distribution for plugin in chosen}
    problems = [" ".join(problem) for problem in composition.index.problems()]
    return Report(
        title="Plugins",
        lines=[f"{len(chosen)} plugins from {len(shippers)} distributions: {summary}.", *problems],
        tables=[_table(name, [plugin for plugin in chosen if plugin.group == name]) for name in _groups(chosen)],
        data={"plugins": [_facts(plugin) for plugin in chosen], "problems": problems},
        succeeded=not counts["broken"] and not problems,
        keys=[Key("Status", [Sign(name, _MEANINGS[name], tone, counts[name]) for name, tone in TONES.items()])],
    )


def all_plugins(composition: Composition) -> list[Plugin]:
    """Return every plugin that is declared, group by group."""
    return [plugin for group in composition.groups() for plugin in composition.entries(group)]


def load_all(plugins: list[Plugin]) -> None:
    """Import every plugin that can be used; what fails is set aside and says so itself."""
    for plugin in plugins:
        if plugin.status == "available":
            try:
                plugin.load()
            except PluginError:
                continue


def explanation(plugin: Plugin) -> str:
    """Return why a plugin has its status."""
    if plugin.denial is not None:
        return plugin.denial
    if plugin.cause is not None:
        return one_line(f"{type(plugin.cause).__name__}: {plugin.cause}")
    return _MEANINGS[plugin.status]


def _groups(plugins: list[Plugin]) -> list[str]:
    return sorted({plugin.group for plugin in plugins})


def _table(group: str, plugins: list[Plugin]) -> Table:
    rows = []
    for plugin in plugins:
        why = explanation(plugin)
        unusable = plugin.status in ("broken", "denied")
        rows.append(
            [
                Entry(plugin.name),
                Entry(f"{plugin.distribution} {plugin.version}".strip()),
                Entry(plugin.value),
                Entry(
                    f"{plugin.status}: {one_line(why, 300)}" if unusable else plugin.status,
                    TONES[plugin.status],
                    why,
                    (plugin.status,),
                ),
            ]
        )
    return Table(group, ["name", "distribution", "object", "status"], rows)


def _facts(plugin: Plugin) -> dict[str, Any]:
    return {
        "group": plugin.group,
        "name": plugin.name,
        "object": plugin.value,
        "distribution": plugin.distribution,
        "version": plugin.version,
        "identity": plugin.identity,
        "status": plugin.status,
        "explanation": explanation(plugin),
    }
