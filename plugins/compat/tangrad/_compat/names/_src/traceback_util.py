"""`jax._src.traceback_util`: which frames errors show. Here they hide Tangrad's own, whatever else is said."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

_exclude_paths: list[str] = []


def register_exclusion(path: str) -> None:
    """Note that the frames of a file are of no interest to users."""
    _exclude_paths.append(path)


def include_frame(frame: FrameType) -> bool:
    """Whether a frame is of interest: it is not of a file that was noted."""
    return not frame.f_code.co_filename.startswith(tuple(_exclude_paths))


def api_boundary(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """The function itself: Tangrad's own functions see to the frames of errors."""
    return function
