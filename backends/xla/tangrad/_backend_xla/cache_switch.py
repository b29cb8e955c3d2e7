"""`cache.enable` and `cache.disable`: the persistent compilation cache by one line."""

from __future__ import annotations

import os
from pathlib import Path

from tangrad._backend_xla import cache_files, settings

_threshold_before: dict[str, float] = {}  # what `disable` brings back


def enable(
    path: str | os.PathLike[str] | None = None, *, max_size: int | None = None, min_compile_seconds: float = 0.0
) -> Path:
    """Keep compiled programs on disk, for later processes: what they compile again is read instead.

    Args:
        path: the folder, made if need be. It must belong to the user, and be closed to others for writing. None: what
            the setting `compilation_cache_dir` names, else `programs` in the user's cache folder for Tangrad.
        max_size: the most bytes that the folder may hold; the least recently used programs go first. None: as the
            setting `compilation_cache_max_size` says, 1 GiB unless it is set.
        min_compile_seconds: programs that compile faster are not written. The setting `xla_cache_min_compile_seconds`
            has 0.1; here all are.

    Returns:
        The folder.

    Raises:
        ValueError: where no folder is named and the user has none for caches; for a size that is not positive, or
            seconds below zero.

    What cannot be written costs a warning and a compilation, nothing more. Programs of the NumPy backend are not kept:
    their code is made in milliseconds.

    >>> import tempfile
    >>> from tangrad import cache
    >>> folder = cache.enable(tempfile.mkdtemp())
    >>> cache.disable()
    """
    chosen = settings.compilation_cache_dir.value if path is None else os.fspath(path)
    folder = cache_files.default_folder() if chosen is None else Path(chosen).expanduser().absolute()
    if folder is None:
        raise ValueError("cache.enable: no folder is named, and this user has none for caches: pass path=...")
    threshold = settings.xla_cache_min_compile_seconds
    before = threshold.value
    threshold.set(min_compile_seconds)
    try:
        if max_size is not None:
            settings.compilation_cache_max_size.set(max_size)
    except BaseException:
        threshold.set(before)
        raise
    _threshold_before.setdefault("seconds", before)
    settings.compilation_cache_dir.set(str(folder))
    settings.enable_compilation_cache.set(True)
    return folder


def disable() -> None:
    """Keep no more programs on disk, and read none; those that are there stay, and so does the folder's name.

    >>> from tangrad import cache
    >>> cache.disable()
    """
    settings.enable_compilation_cache.set(False)
    if _threshold_before:
        settings.xla_cache_min_compile_seconds.set(_threshold_before.pop("seconds"))
