"""All jobs, by the family of their equations."""

from __future__ import annotations

from collections.abc import Mapping

from tangrad._kernels import factors, running, sorting
from tangrad._kernels.jobs import Describe
from tangrad.core import Primitive

JOBS: dict[str, Mapping[Primitive, Describe]] = {
    "decompositions": factors.JOBS,
    "reductions": running.JOBS,
    "sorting": sorting.JOBS,
}
