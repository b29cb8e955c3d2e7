"""What holds the memory of devices."""

from __future__ import annotations

import gzip
import os

from tangrad._profiler.backends import profiler_of


def device_memory_profile(backend: str | None = None) -> bytes:
    """What the devices' memory is used for, as a gzipped protocol buffer that `pprof` reads.

    Args:
        backend: the name of a backend; default: the one in use.

    Raises BackendError where the backend does not keep account of it: only XLA does.
    """
    return gzip.compress(profiler_of(backend, "device_memory_profile").memory_profile())


def save_device_memory_profile(filename: os.PathLike[str] | str, backend: str | None = None) -> None:
    """Write `device_memory_profile` to a file.

    Args:
        filename: of the file, which is written anew.
        backend: the name of a backend; default: the one in use.

    Raises BackendError where the backend does not keep account of its memory.
    """
    contents = device_memory_profile(backend)
    with open(filename, "wb") as file:
        file.write(contents)
