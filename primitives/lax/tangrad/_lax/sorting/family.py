"""The family with all of its primitives, which the modules of this package add to it as they are imported."""

from __future__ import annotations

from tangrad._lax.sorting import approximate
from tangrad._lax.sorting.primitives import sorting

__all__ = ["approximate", "sorting"]
