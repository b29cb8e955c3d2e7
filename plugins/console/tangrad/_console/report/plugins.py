"""The reports of `tangrad plugins`: every plugin, where it comes from and whether it can be used; and who was asked."""

from __future__ import annotations

import contextlib
import runpy
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tangrad._console.report.model import BAD, GOOD, PLAIN, QUIET, WARNING, Entry, Key, Report, Sign, Table, one_line
from tangrad._console.report.rules import squares
from tangrad._core.composition.plugin import flat
from tangrad.core.tools import Composition, Plugin
from tangrad.errors import PluginError

if TYPE_CHECKING:
    from tangrad._console.report.rules import Square

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
    """Import every plugin that can be used; what fails is set aside and reports it itself."""
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


def _facts(plugin: Plugin) -> dict[str, object]:
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


class Question(NamedTuple):
    """One call of a hook.

    Attributes:
        hook: its name.
        about: the cell, or the program: the arguments that are texts or say their name.
        asked: the names of the plugins that implement the hook, in the order of the calls.
        answers: what they contributed.
        failure: the error that ended the call, or None.
        seconds: how long it took, with everything that was asked meanwhile.
    """

    hook: str
    about: str
    asked: list[str]
    answers: list[Plugin]
    failure: str | None
    seconds: float


@contextlib.contextmanager
def listening(composition: Composition) -> Iterator[list[Question]]:
    """Collect every question that is put to the plugins within the block."""
    questions: list[Question] = []
    starts: list[float] = []

    def before(hook: str, implementations: Sequence[object], values: Mapping[str, object]) -> None:
        starts.append(time.perf_counter())

    def after(outcome: Any, hook: str, implementations: Sequence[Any], values: Mapping[str, object]) -> None:
        seconds = time.perf_counter() - starts.pop()
        failure = None if outcome.exception is None else one_line(f"{type(outcome.exception).__name__}", 300)
        answers = [] if failure else flat(outcome.get_result())
        asked = list(dict.fromkeys(one.plugin_name for one in reversed(implementations)))
        questions.append(Question(hook, _about(values), asked, answers, failure, seconds))

    undo = composition.manager.add_hookcall_monitoring(before, after)
    try:
        yield questions
    finally:
        undo()


def _about(values: Mapping[str, object]) -> str:
    texts = [getattr(value, "function_name", value) for value in values.values()]
    return " ".join(text for text in texts if isinstance(text, str))


def trace_report(composition: Composition, program: list[str]) -> Report:
    """Return who was asked for what.

    Args:
        composition: whose plugins are watched.
        program: a Python file and its arguments, to be run meanwhile (what it prints goes to the error output); none:
            every rule of every primitive is looked up instead.
    """
    lines = []
    with listening(composition) as questions:
        failure = _outcome(lambda: _run(program)) if program else _outcome(squares)
    if failure is not None:
        lines.append(f"{program[0] if program else 'the look-up of all rules'} ended with {failure}.")
    names = [name for name, plugin in composition.manager.list_name_plugin() if plugin is not None]
    spent = sum(question.seconds for question in questions)
    lines.append(f"{len(questions)} questions to {len(names)} plugins, answered in {spent * 1e3:.1f} ms.")
    rows = [_row(question) for question in questions]
    return Report(
        title="Questions to plugins",
        lines=lines,
        tables=[Table("in the order of the answers", ["hook", "about", "asked", "answer", "ms"], rows)],
        data={"questions": [_facts_trace(question) for question in questions], "plugins": names, "failure": failure},
        succeeded=failure is None,
    )


def _run(program: list[str]) -> None:
    kept = sys.argv
    sys.argv = program
    try:
        with contextlib.redirect_stdout(sys.stderr):
            runpy.run_path(program[0], run_name="__main__")
    finally:
        sys.argv = kept


def _outcome(work: Callable[..., tuple[Sequence[Square], Sequence[str]] | None]) -> str | None:
    """Do something; returns the error that it ended with, or None."""
    try:
        work()
    except SystemExit as end:
        return None if not end.code else f"exit status {end.code}"
    except Exception as error:  # whatever the user's program raises: what was asked until then is the report
        return one_line(f"{type(error).__name__}: {error}", 300)
    return None


def _row(question: Question) -> list[Entry]:
    denied = [plugin for plugin in question.answers if plugin.denial is not None]
    answer = question.failure or ", ".join(dict.fromkeys(_text(plugin) for plugin in question.answers)) or "nothing"
    tone = BAD if question.failure else WARNING if denied else GOOD if question.answers else QUIET
    asked = ", ".join(question.asked) or "none"
    shown = asked if len(question.asked) <= 2 else f"{len(question.asked)} plugins"
    return [
        Entry(question.hook),
        Entry(question.about),
        Entry(shown, PLAIN, asked),
        Entry(answer, tone, "\n".join(plugin.value for plugin in question.answers)),
        Entry(f"{question.seconds * 1e3:.3f}"),
    ]


def _text(plugin: Plugin) -> str:
    return plugin.distribution if plugin.denial is None else f"{plugin.distribution} (denied)"


def _facts_trace(question: Question) -> dict[str, object]:
    return {
        "hook": question.hook,
        "about": question.about,
        "asked": question.asked,
        "answers": [plugin.identity for plugin in question.answers],
        "failure": question.failure,
        "seconds": question.seconds,
    }
