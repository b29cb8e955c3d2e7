"""The conformance kit: samples of primitives, and the checks that every rule of every kind has to pass."""

from tangrad._conformance.checks import CHECKS as CHECKS
from tangrad._conformance.collection import find_samples as find_samples
from tangrad._conformance.collection import own_checks as own_checks
from tangrad._conformance.collection import primitives_of as primitives_of
from tangrad._conformance.report import Cell as Cell
from tangrad._conformance.report import Report as Report
from tangrad._conformance.runner import check as check
from tangrad._conformance.runner import sweep as sweep
from tangrad._conformance.samples import Sample as Sample
from tangrad._conformance.samples import draw as draw
from tangrad._conformance.samples import over as over
from tangrad._conformance.samples import recorded as recorded
from tangrad._conformance.samples import samples_of as samples_of
from tangrad._conformance.samples import smooth_samples as smooth_samples
