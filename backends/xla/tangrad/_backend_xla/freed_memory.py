"""Freed memory of programs on CPUs: whether the C library keeps it for the next call, or returns it to the kernel.

XLA asks the C library for the memory of results and of what is between operations at every call, and frees it. glibc
maps each block of more than 32 MiB anew, whose pages the kernel then clears one by one, at their first use: for simple
operations on large arrays that takes most of the time. Figures are in docs/xla-backend.md.

glibc has a heap for each of the first threads, made of pieces of at most 64 MiB, and one without bounds, the first. XLA
computes in threads of its own, so blocks up to 64 MiB can be kept without more; larger ones only where all threads
share the first heap, for which they wait for one another in short calls.
"""

from __future__ import annotations

import os
import platform
from ctypes import CDLL, c_int
from pathlib import Path

from tangrad._backend_xla import settings
from tangrad.core.backends import processors

MIB = 1 << 20
PIECE = 64 * MIB  # the most that a heap of a thread grows by (HEAP_MAX_SIZE)
LARGEST = 1024 * MIB

# mallopt's parameters (malloc.h of glibc).
TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD, ARENA_MAX = -1, -2, -3, -8

# Where users choose for themselves: parts of GLIBC_TUNABLES, and variables of their own.
TUNABLES = ("mmap_threshold", "mmap_max", "trim_threshold", "top_pad", "arena_max")
VARIABLES = (
    "MALLOC_MMAP_THRESHOLD_",
    "MALLOC_MMAP_MAX_",
    "MALLOC_TRIM_THRESHOLD_",
    "MALLOC_TOP_PAD_",
    "MALLOC_ARENA_MAX",
)

# Files with the bytes that this process's group may use, of both versions of control groups.
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def options(word: str, memory: int, threads: int) -> dict[int, int]:
    """What is set for a word of `xla_cpu_freed_memory`: parameter of mallopt -> value.

    Args:
        word: the setting.
        memory: bytes of the machine, or that this process may use.
        threads: how many may compute at once, each of which may keep two pieces.
    """
    if word == "kept":
        block = min(LARGEST, memory // 16)
        return {MMAP_THRESHOLD: block, TRIM_THRESHOLD: min(2 * block, 2 * LARGEST - 1), TOP_PAD: PIECE, ARENA_MAX: 1}
    if word == "bounded" and 2 * PIECE * threads <= memory // 8:
        return {MMAP_THRESHOLD: PIECE, TRIM_THRESHOLD: 2 * PIECE, TOP_PAD: PIECE}
    return {}


def apply() -> None:
    """Set what `xla_cpu_freed_memory` asks for before XLA starts threads, on glibc where the user did not."""
    tunables = os.environ.get("GLIBC_TUNABLES", "")
    if any([f"glibc.malloc.{name}=" in tunables for name in TUNABLES] + [name in os.environ for name in VARIABLES]):
        return
    chosen = options(settings.xla_cpu_freed_memory.value, _memory(), processors())
    if not chosen or platform.libc_ver()[0] != "glibc":
        return
    mallopt = CDLL(None).mallopt
    mallopt.argtypes, mallopt.restype = (c_int, c_int), c_int
    for parameter, value in chosen.items():
        mallopt(parameter, value)


def _memory() -> int:
    """The bytes of memory of this machine, or those that this process's control group may use, where these are less."""
    found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    for file in map(Path, LIMITS):
        try:
            found = min(found, int(file.read_text()))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return found
