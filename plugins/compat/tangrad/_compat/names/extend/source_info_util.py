"""`jax.extend.source_info_util`: places in programs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tangrad import named_scope
from tangrad._compat.names._src.traceback_util import register_exclusion as register_exclusion
from tangrad.core import current_source as current
from tangrad.core.tools import SourceInfo as SourceInfo

extend_name_stack = named_scope


def summarize(source_info: Any, num_frames: int = 1) -> str:
    """The line of the user's program that an equation is of, as text."""
    return str(source_info)


@contextmanager
def user_context(traceback: Any, *, name_stack: Any = None) -> Iterator[None]:
    """Within the block errors are of the line that they are of: Tangrad's say that of the equation already."""
    yield
