"""The pytest plugin of the conformance kit: one test for each primitive of the distributions that the ini file names.

    [tool.pytest.ini_options]
    tangrad_conformance = ["tangrad-finufft"]

A backend is checked with the primitives of all distributions, against another backend:

    tangrad_conformance = ["*"]
    tangrad_conformance_checks = ["abstract", "jit", "backends"]
    tangrad_conformance_backends = ["numpy", "mine"]

It stands outside of the package `tangrad`, which pytest must not import before the project's conftest has run: it reads
its environment once. So nothing is imported here unless a distribution is named.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tangrad.core import Primitive


INI, CHECKS, BACKENDS = "tangrad_conformance", "tangrad_conformance_checks", "tangrad_conformance_backends"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The line of configuration, and where to write the page."""
    whose = "distributions whose primitives are checked by Tangrad's conformance kit; * for all"
    parser.addini(INI, whose, type="args", default=[])
    parser.addini(CHECKS, "which checks; all if left out", type="args", default=[])
    parser.addini(BACKENDS, "on which backends; on all that are installed if left out", type="args", default=[])
    group = parser.getgroup("tangrad", "Tangrad's conformance kit")
    group.addoption("--tangrad-html", metavar="FILE", help="write the matrix of primitives and checks as a page")
    group.addoption("--tangrad-everywhere", type=int, metavar="N", help="try only N samples on all backends")


class ConformanceItem(pytest.Item):
    """One primitive, checked with all its samples."""

    def __init__(self, *, primitive: Primitive, samples: object, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.primitive = primitive
        self.samples = samples

    def runtest(self) -> None:
        """Check it; the cells are kept for the summary."""
        kit = importlib.import_module("tangrad.conformance")
        report = kit.check(
            self.primitive,
            self.samples,
            self.config.getini(CHECKS) or None,
            everywhere=self.config.getoption("--tangrad-everywhere"),
            backends=self.config.getini(BACKENDS) or None,
        )
        self.user_properties.append(("tangrad_cells", len(report.cells)))
        self.config.stash[REPORT].extend(report)
        if report.failures:
            raise ConformanceError(report.text())

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """What failed, without the kit's own frames."""
        if isinstance(excinfo.value, ConformanceError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Named after the primitive."""
        return self.path, None, f"conformance: {self.primitive.identity}"


class ConformanceError(Exception):
    """A primitive does not conform."""


REPORT: pytest.StashKey[Any] = pytest.StashKey()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the primitives to a run of the whole suite; a run of chosen files is left alone."""
    distributions = config.getini(INI)
    if not distributions or config.args_source is pytest.Config.ArgsSource.ARGS:
        return
    kit = importlib.import_module("tangrad.conformance")
    config.stash[REPORT] = kit.Report()
    primitives = kit.primitives_of(*distributions)
    samples = kit.find_samples({primitive.family for primitive in primitives})
    for primitive in primitives:
        items.append(
            ConformanceItem.from_parent(
                session,
                name=f"conformance[{primitive.identity}]",
                nodeid=f"conformance::{primitive.identity}",
                primitive=primitive,
                samples=samples.get(primitive, ()),
            )
        )


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """How much was checked; with pytest-xdist the workers say so test by test, and write no page."""
    reports = [report for found in terminalreporter.stats.values() for report in found]
    calls = [report.user_properties for report in reports if getattr(report, "when", None) == "call"]
    cells = sum([count for properties in calls for name, count in properties if name == "tangrad_cells"])
    if cells:
        terminalreporter.write_sep("-", f"conformance: {cells} cells checked")
    found, page = config.stash.get(REPORT, None), config.getoption("--tangrad-html")
    if page and found is not None and found.cells:
        Path(page).write_text(found.html(), encoding="utf-8")
