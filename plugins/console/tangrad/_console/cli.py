"""The command `tangrad`: what is installed, who provides what, and what is wrong.

Commands are plugins of the group `tangrad.commands`: an entry's name is the command's, its value a function of the
remaining arguments that returns the exit status, or None for success; the first line of its docstring is the summary.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence

import tangrad
from tangrad._console.explanations import catalogue
from tangrad._console.explanations.missing import comes_with_tangrad
from tangrad.core import composition
from tangrad.core.tools import Plugin
from tangrad.errors import MissingDistributionError, PluginError, PluginWarning, RefusedError

COMMANDS_GROUP = "tangrad.commands"


def _check_command(plugin: Plugin, loaded: object) -> None:
    if not callable(loaded):
        raise TypeError(f"expected a function of the arguments, got {loaded!r} of type {type(loaded).__name__}")


composition().set_check(COMMANDS_GROUP, _check_command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit status: 0, 1 where a check found problems, 2 for wrong usage."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if arguments and not arguments[0].startswith("-"):
        status = _run(arguments[0], arguments[1:])
        if status is not None:
            return status
    parser = _parser()
    if not arguments:
        parser.print_help(sys.stderr)
        parser.exit(2)
    options = parser.parse_args(arguments)  # prints the help, or what is wrong with the arguments, and exits
    return _run(options.command, []) or 0


def _run(command: str, arguments: list[str]) -> int | None:
    """Run a command and return its exit status; None where there is none, and no known distribution has it."""
    try:
        function = _loaded(command)
    except (PluginError, RefusedError) as error:
        print(f"tangrad {command}: {error}", file=sys.stderr)
        return 2
    if function is not None:
        return function(arguments) or 0  # a command that returns nothing has succeeded
    distribution = catalogue.owner_in(catalogue.COMMANDS, command)
    if distribution is None:
        return None
    print(
        MissingDistributionError(f"tangrad {command}", distribution, comes_with_tangrad(distribution)), file=sys.stderr
    )
    return 2


def _loaded(command: str) -> Callable[[list[str]], int | None] | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PluginWarning)  # the error has it
        plugin = composition().find(COMMANDS_GROUP, command)
        return None if plugin is None else plugin.load()


def _parser() -> argparse.ArgumentParser:
    """What `tangrad --help` shows; each command parses its own arguments."""
    parser = argparse.ArgumentParser(prog="tangrad", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--version", action="version", version=f"tangrad {tangrad.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for name in sorted({plugin.name for plugin in composition().manager.contributions(COMMANDS_GROUP, "")}):
        commands.add_parser(name, help=_summary(name))
    return parser


def _summary(name: str) -> str:
    try:
        return (_loaded(name).__doc__ or "").strip().split("\n")[0]
    except PluginError:
        return "cannot be used: the command itself shows why"
