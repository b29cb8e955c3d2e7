"""The conformance kit: samples of primitives, and the checks that every rule of every kind has to pass."""

from tangrad.conformance.checks import CHECKS as CHECKS
from tangrad.conformance.collection import find_samples as find_samples
from tangrad.conformance.collection import own_checks as own_checks
from tangrad.conformance.collection import primitives_of as primitives_of
from tangrad.conformance.report import Cell as Cell
from tangrad.conformance.report import Report as Report
from tangrad.conformance.runner import check as check
from tangrad.conformance.runner import sweep as sweep
from tangrad.conformance.samples import Sample as Sample
from tangrad.conformance.samples import draw as draw
from tangrad.conformance.samples import over as over
from tangrad.conformance.samples import recorded as recorded
