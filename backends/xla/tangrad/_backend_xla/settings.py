"""The settings that the XLA backend reads, beside `num_cpu_devices`, which all backends share."""

from __future__ import annotations

from typing import Any

from tangrad.core.settings import (
    check_optional_positive,
    check_optional_text,
    define_choice,
    define_flag,
    define_setting,
    optional_text,
)

PLATFORMS = ("cpu", "cuda", "rocm")


def _parse_platforms(text: str) -> object:
    return _check_platforms(tuple([name.strip() for name in text.split(",") if name.strip()]) or None)


def _check_platforms(value: Any) -> object:
    if value is None:
        return None
    if isinstance(value, str):
        return _parse_platforms(value)
    names = tuple(value)
    for name in names:
        if name not in PLATFORMS:
            raise ValueError(f"expected platforms among {', '.join(PLATFORMS)}")
    return names or None


def _check_seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError("expected a number of seconds")
    if value < 0:
        raise ValueError("expected a number of seconds, not negative")
    return float(value)


def _check_bytes(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("expected a number of bytes")
    if value < 0:
        raise ValueError("expected a number of bytes, not negative")
    return value


xla_platforms = define_setting(
    "xla_platforms",
    None,
    "The platforms that the XLA backend starts, the default one first, such as 'cuda,cpu'; None: what is there.",
    parse=_parse_platforms,
    check=_check_platforms,
)
xla_cache_min_compile_seconds = define_setting(
    "xla_cache_min_compile_seconds",
    0.1,
    "Programs that compile faster than this are not written to the persistent compilation cache.",
    parse=lambda text: _check_seconds(float(text)),
    check=_check_seconds,
)
xla_cache_min_entry_bytes = define_setting(
    "xla_cache_min_entry_bytes",
    0,
    "Programs that take fewer bytes than this are not written to the persistent compilation cache.",
    parse=int,
    check=_check_bytes,
)
enable_compilation_cache = define_flag(
    "enable_compilation_cache",
    "Whether the persistent compilation cache is read and written, where compilation_cache_dir names its folder.",
    default=True,
)
xla_cpu_asynchronous = define_flag(
    "xla_cpu_asynchronous",
    "Whether programs on CPUs run beside Python, which goes on at once; read when XLA starts.",
    default=True,
)
xla_cpu_freed_memory = define_choice(
    "xla_cpu_freed_memory",
    "bounded",
    ("returned", "bounded", "kept"),
    "What becomes of memory that programs on CPUs free: the C library keeps blocks up to 64 MiB, all, or returns it; "
    "read when XLA starts.",
    changes_results=False,
)
compilation_cache_dir = define_setting(
    "compilation_cache_dir",
    None,
    "The folder of the persistent compilation cache; None: no persistent cache.",
    parse=optional_text,
    check=check_optional_text,
)
compilation_cache_max_size = define_setting(
    "compilation_cache_max_size",
    1 << 30,
    "The most bytes the persistent compilation cache may hold.",
    parse=int,
    check=check_optional_positive,
)
