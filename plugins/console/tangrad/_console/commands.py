"""The commands that print a report: `tangrad doctor`, `plugins`, `rules`; their options, and how it is delivered."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable
from typing import TypeAlias

from tangrad import __version__
from tangrad._console.report import render
from tangrad._console.report.doctor import doctor_report
from tangrad._console.report.model import Report
from tangrad._console.report.plugins import plugins_report, trace_report
from tangrad._console.report.requirements import normal_name
from tangrad._console.report.rules import kinds, rules_report
from tangrad.core import composition
from tangrad.errors import PluginWarning, TangradError

MakeReport: TypeAlias = Callable[[argparse.Namespace], Report]


def report_parser(command: str, summary: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options of every report: as JSON, as a page."""
    parser = argparse.ArgumentParser(prog=f"tangrad {command}", description=summary)
    formats = parser.add_mutually_exclusive_group()
    formats.add_argument("--json", action="store_true", help="print JSON")
    formats.add_argument(
        "--html", nargs="?", const="-", metavar="FILE", help="write a self-contained page, to FILE or to the terminal"
    )
    return parser


def deliver(command: str, options: argparse.Namespace, make_report: MakeReport, check: bool = False) -> int:
    """Make the report and print it, or write it to the file that `--html` names.

    Args:
        command: the name of the command, for messages.
        options: what the parser of `report_parser` returned; handed on to `make_report`.
        make_report: returns the report; a TangradError, LookupError or ValueError of its is wrong usage.
        check: whether a report of problems is a failure.

    Returns:
        The exit status: 0, 1 for a failure, 2 for wrong usage.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PluginWarning)  # the report has it, with more
        try:
            report = make_report(options)
        except (TangradError, LookupError, ValueError) as error:
            print(f"tangrad {command}: {error}", file=sys.stderr)
            return 2
    return _hand_over(report, command, options) or (0 if report.succeeded or not check else 1)


def _hand_over(report: Report, command: str, options: argparse.Namespace) -> int:
    if options.html is None:
        return _print(render.to_json(report) if options.json else render.to_text(report), None)
    text = render.to_html(report, footer=f"Written by tangrad {command}, tangrad-core {__version__}.")
    if options.html == "-":
        return _print(text, "utf-8")
    try:
        with open(options.html, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text + "\n")
    except OSError as error:
        print(f"tangrad {command}: {error}", file=sys.stderr)
        return 2
    return _print(f"{options.html}: {report.verdict or report.lines[0]}", None)


def _print(text: str, encoding: str | None) -> int:
    try:
        if hasattr(sys.stdout, "reconfigure"):
            # A terminal of another encoding gets escapes instead of an exception; a page declares that it is UTF-8.
            sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace")
        print(text, flush=True)
    except BrokenPipeError:  # the reader (`head`) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    return 0


def doctor(arguments: list[str]) -> int:
    """Versions, backends, devices, and problems, each with its cure."""
    options = report_parser("doctor", doctor.__doc__).parse_args(arguments)
    return deliver("doctor", options, _doctor_report, check=True)


def _doctor_report(options: argparse.Namespace) -> Report:
    return doctor_report(composition())


def plugins(arguments: list[str]) -> int:
    """Every plugin: where it comes from, and whether it can be used."""
    parser = report_parser("plugins", plugins.__doc__)
    parser.add_argument("--group", help="only this entry-point group, such as rules.jvp")
    parser.add_argument("--distribution", help="only this distribution")
    parser.add_argument("--load", action="store_true", help="import each plugin, so that broken ones show")
    parser.add_argument("--check", action="store_true", help="exit with status 1 if one is set aside")
    parser.add_argument(
        "--trace",
        nargs=argparse.REMAINDER,
        metavar="PROGRAM",
        help="show who is asked for what while a program runs (a Python file and its arguments; the last option)",
    )
    options = parser.parse_args(arguments)
    return deliver("plugins", options, _plugins_report, options.check)


def _plugins_report(options: argparse.Namespace) -> Report:
    if options.trace is not None:
        return trace_report(composition(), options.trace)
    distribution = options.distribution and normal_name(options.distribution)
    return plugins_report(composition(), options.group, distribution, options.load)


def rules(arguments: list[str]) -> int:
    """The matrix of primitives and rule kinds: who provides each cell."""
    parser = report_parser("rules", rules.__doc__)
    parser.add_argument("--family", help="only this family of primitives")
    parser.add_argument("--kind", help="only this rule kind")
    parser.add_argument("--distribution", help="only rows in which this distribution provides something")
    parser.add_argument("--holes", action="store_true", help="only rows in which something is missing or in conflict")
    parser.add_argument("--check", action="store_true", help="exit with status 1 if there are holes")
    options = parser.parse_args(arguments)
    return deliver("rules", options, _rules_report, options.check)


def _rules_report(options: argparse.Namespace) -> Report:
    if options.kind is not None and options.kind not in kinds():
        raise LookupError(f"there is no rule kind {options.kind!r}; there are: {', '.join(kinds()) or 'none'}")
    distribution = options.distribution and normal_name(options.distribution)
    if distribution is not None and distribution not in composition().index.distributions():
        raise LookupError(f"no distribution {options.distribution!r} with plugins is installed; see tangrad plugins")
    return rules_report(options.family, options.kind, options.holes, distribution)
