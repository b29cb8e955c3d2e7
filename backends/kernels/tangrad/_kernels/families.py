"""All jobs, by the family of their equations."""

from __future__ import annotations

from collections.abc import Mapping

from tangrad._kernels import running, sorting
from tangrad._kernels.jobs import Describe
from tangrad.core import Primitive

JOBS: dict[str, Mapping[Primitive, Describe]] = {"reductions": running.JOBS, "sorting": sorting.JOBS}
