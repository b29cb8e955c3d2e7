"""The family with all of its primitives, which the modules of this package add to it as they are imported."""

from __future__ import annotations

from tangrad._lax.contractions import ragged
from tangrad._lax.contractions.primitives import contractions

__all__ = ["contractions", "ragged"]
