"""The settings of the XLA backend, beside the kernel's `num_cpu_devices` and `compilation_cache_dir`."""

from __future__ import annotations

from typing import Any

from tangrad.core.config import define

PLATFORMS = ("cpu", "cuda")


def _parse_platforms(text: str) -> Any:
    return _check_platforms(tuple([name.strip() for name in text.split(",") if name.strip()]) or None)


def _check_platforms(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, str):
        return _parse_platforms(value)
    names = tuple(value)
    for name in names:
        if name not in PLATFORMS:
            raise ValueError(f"expected platforms among {', '.join(PLATFORMS)}")
    return names or None


def _check_seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError("expected a number of seconds")
    if value < 0:
        raise ValueError("expected a number of seconds, not negative")
    return float(value)


xla_platforms = define(
    "xla_platforms",
    None,
    "The platforms that the XLA backend starts, the default one first, such as 'cuda,cpu'; None: what is there.",
    parse=_parse_platforms,
    check=_check_platforms,
)
xla_cache_min_compile_seconds = define(
    "xla_cache_min_compile_seconds",
    0.1,
    "Programs that compile faster than this are not written to the persistent compilation cache.",
    parse=lambda text: _check_seconds(float(text)),
    check=_check_seconds,
)
