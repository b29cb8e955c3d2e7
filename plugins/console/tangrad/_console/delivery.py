"""What the commands that print a report have in common: their options, and how the report reaches its reader."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable
from typing import TypeAlias

from tangrad import __version__
from tangrad._console.report import page, render
from tangrad._console.report.model import Report
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
        warnings.simplefilter("ignore", PluginWarning)  # the report says it, with more
        try:
            report = make_report(options)
        except (TangradError, LookupError, ValueError) as error:
            print(f"tangrad {command}: {error}", file=sys.stderr)
            return 2
    return _hand_over(report, command, options) or (0 if report.succeeded or not check else 1)


def _hand_over(report: Report, command: str, options: argparse.Namespace) -> int:
    if options.html is None:
        return _print(render.to_json(report) if options.json else render.to_text(report), None)
    text = page.to_html(report, footer=f"Written by tangrad {command}, tangrad-core {__version__}.")
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
            # A terminal of another encoding gets escapes instead of an exception; a page says that it is UTF-8.
            sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace")
        print(text, flush=True)
    except BrokenPipeError:  # the reader (`head`) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    return 0
