"""The command `tangrad rules`."""

from __future__ import annotations

import argparse

from tangrad._console.delivery import deliver, report_parser
from tangrad._console.report.model import Report
from tangrad._console.report.names import normal_name
from tangrad._console.report.rules import kinds, rules_report
from tangrad.core import composition


def main(arguments: list[str]) -> int:
    """The matrix of primitives and rule kinds: who provides each cell."""
    parser = report_parser("rules", main.__doc__)
    parser.add_argument("--family", help="only this family of primitives")
    parser.add_argument("--kind", help="only this rule kind")
    parser.add_argument("--distribution", help="only rows in which this distribution provides something")
    parser.add_argument("--holes", action="store_true", help="only rows in which something is missing or in conflict")
    parser.add_argument("--check", action="store_true", help="exit with status 1 if there are holes")
    options = parser.parse_args(arguments)
    return deliver("rules", options, _report, options.check)


def _report(options: argparse.Namespace) -> Report:
    if options.kind is not None and options.kind not in kinds():
        raise LookupError(f"there is no rule kind {options.kind!r}; there are: {', '.join(kinds()) or 'none'}")
    distribution = options.distribution and normal_name(options.distribution)
    if distribution is not None and distribution not in composition().index.distributions():
        raise LookupError(f"no distribution {options.distribution!r} with plugins is installed; see tangrad plugins")
    return rules_report(options.family, options.kind, options.holes, distribution)
