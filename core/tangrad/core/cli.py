"""The command `tangrad`: what is installed, who provides what, and what is wrong.

Further commands are plugins of the group `tangrad.commands`: an entry's name is the command's, its value a function of
the remaining arguments that returns the exit status; the first line of its docstring is the summary.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from tangrad.core.api import own_version
from tangrad.core.errors import PluginError, PluginWarning, TangradError, missing_distribution_message
from tangrad.core.plugins import Plugin, composition
from tangrad.core.report.model import Report

COMMANDS_GROUP = "tangrad.commands"
OWN_COMMANDS = ("plugins", "rules", "doctor")


def _check_command(plugin: Plugin, loaded: Any) -> None:
    if not callable(loaded):
        raise TypeError(f"expected a function of the arguments, got {loaded!r} of type {type(loaded).__name__}")


composition().set_check(COMMANDS_GROUP, _check_command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status: 0, 1 where a check found problems, 2 for wrong usage."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    command = arguments[0] if arguments else ""
    if command not in OWN_COMMANDS and not command.startswith("-"):
        status = _foreign(command, arguments[1:])
        if status is not None:
            return status
    options = _parser(command not in OWN_COMMANDS).parse_args(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PluginWarning)  # the report says it, with more
        try:
            report: Report = options.report(options)
        except (TangradError, LookupError, ValueError) as error:
            print(f"tangrad {options.command}: {error}", file=sys.stderr)
            return 2
    return _deliver(report, options) or (0 if report.succeeded or not options.check else 1)


def _foreign(command: str, arguments: list[str]) -> int | None:
    """Run a command that a plugin provides; None where none does, and nothing is known that would."""
    from tangrad.core.catalogue import distribution_of_command

    try:
        function = _loaded(command)
    except PluginError as error:
        print(f"tangrad {command}: {error}", file=sys.stderr)
        return 2
    if function is not None:
        return function(arguments)
    distribution = distribution_of_command(command)
    if distribution is None:
        return None
    print(missing_distribution_message(f"tangrad {command}", distribution), file=sys.stderr)
    return 2


def _loaded(command: str) -> Callable[[list[str]], int] | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PluginWarning)  # the error says it
        plugin = composition().find(COMMANDS_GROUP, command)
        return None if plugin is None else plugin.load()


def _parser(with_plugins: bool) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tangrad", description=(__doc__ or "").split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")

    plugins = _command(commands, "plugins", "every plugin: where it comes from, and whether it can be used", _plugins)
    plugins.add_argument("--group", help="only this entry-point group, such as rules.jvp")
    plugins.add_argument("--distribution", help="only this distribution")
    plugins.add_argument("--load", action="store_true", help="import each plugin, so that broken ones show")
    plugins.set_defaults(check=False)

    rules = _command(commands, "rules", "the matrix of primitives and rule kinds: who provides each cell", _rules)
    rules.add_argument("--family", help="only this family of primitives")
    rules.add_argument("--kind", help="only this rule kind")
    rules.add_argument("--holes", action="store_true", help="only rows in which something is missing or in conflict")
    rules.add_argument("--check", action="store_true", help="exit with status 1 if there are holes")

    doctor = _command(commands, "doctor", "versions, backends, devices, and problems, each with its cure", _doctor)
    doctor.set_defaults(check=True)

    for name in _plugin_commands() if with_plugins else ():  # only listed: each parses its own arguments
        commands.add_parser(name, help=_summary(name))
    return parser


def _plugin_commands() -> list[str]:
    names = dict.fromkeys(plugin.name for plugin in composition().entries(COMMANDS_GROUP))
    return [name for name in names if name not in OWN_COMMANDS]


def _summary(name: str) -> str:
    try:
        return (_loaded(name).__doc__ or "").strip().split("\n")[0]
    except PluginError:
        return "cannot be used: `tangrad doctor` says why"


def _command(commands: argparse._SubParsersAction, name: str, summary: str, report: object) -> argparse.ArgumentParser:  # type: ignore[type-arg]
    command: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=summary)
    formats = command.add_mutually_exclusive_group()
    formats.add_argument("--json", action="store_true", help="print JSON")
    formats.add_argument(
        "--html", nargs="?", const="-", metavar="FILE", help="write a self-contained page, to FILE or to the terminal"
    )
    command.set_defaults(report=report)
    return command


# Each report imports what it shows, which is most of the kernel: the others and `--help` need none of it.


def _plugins(options: argparse.Namespace) -> Report:
    from tangrad.core.record import normalise
    from tangrad.core.report.plugins import plugins_report

    distribution = options.distribution and normalise(options.distribution)
    return plugins_report(composition(), options.group, distribution, options.load)


def _rules(options: argparse.Namespace) -> Report:
    from tangrad.core.report.rules import kinds, rules_report

    if options.kind is not None and options.kind not in kinds():
        raise LookupError(f"there is no rule kind {options.kind!r}; there are: {', '.join(kinds()) or 'none'}")
    return rules_report(options.family, options.kind, options.holes)


def _doctor(options: argparse.Namespace) -> Report:
    from tangrad.core.report.doctor import doctor_report

    return doctor_report(composition())


def _deliver(report: Report, options: argparse.Namespace) -> int:
    """Print the report, or write it to the file that `--html` names; returns an exit status."""
    from tangrad.core.report import page, render

    if options.html is None:
        return _print(render.to_json(report) if options.json else render.to_text(report), None)
    text = page.to_html(report, footer=f"Written by tangrad {options.command}, tangrad-core {own_version()}.")
    if options.html == "-":
        return _print(text, "utf-8")
    try:
        with open(options.html, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text + "\n")
    except OSError as error:
        print(f"tangrad {options.command}: {error}", file=sys.stderr)
        return 2
    return _print(f"{options.html}: {report.verdict or report.lines[0]}", None)


def _print(text: str, encoding: str | None) -> int:
    try:
        if hasattr(sys.stdout, "reconfigure"):
            # A terminal of another encoding gets escapes instead of an exception; a page says that it is UTF-8.
            sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace")
        print(text, flush=True)
    except BrokenPipeError:  # the reader (`head`) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
