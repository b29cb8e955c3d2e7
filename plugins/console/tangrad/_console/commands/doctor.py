"""The command `tangrad doctor`."""

from __future__ import annotations

import argparse

from tangrad._console.delivery import deliver, report_parser
from tangrad._console.report.doctor import doctor_report
from tangrad._console.report.model import Report
from tangrad.core import composition


def main(arguments: list[str]) -> int:
    """Versions, backends, devices, and problems, each with its cure."""
    options = report_parser("doctor", main.__doc__).parse_args(arguments)
    return deliver("doctor", options, _report, check=True)


def _report(options: argparse.Namespace) -> Report:
    return doctor_report(composition())
