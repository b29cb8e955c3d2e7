"""The command `tangrad plugins`."""

from __future__ import annotations

import argparse

from tangrad._console.delivery import deliver, report_parser
from tangrad._console.report.model import Report
from tangrad._console.report.names import normal_name
from tangrad._console.report.plugins import plugins_report
from tangrad._console.report.trace import trace_report
from tangrad.core import composition


def main(arguments: list[str]) -> int:
    """Every plugin: where it comes from, and whether it can be used."""
    parser = report_parser("plugins", main.__doc__)
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
    return deliver("plugins", options, _report, options.check)


def _report(options: argparse.Namespace) -> Report:
    if options.trace is not None:
        return trace_report(composition(), options.trace)
    distribution = options.distribution and normal_name(options.distribution)
    return plugins_report(composition(), options.group, distribution, options.load)
