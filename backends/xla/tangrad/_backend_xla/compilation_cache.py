"""The persistent compilation cache: compiled programs on disk, shared by processes.

It is off unless the setting `compilation_cache_dir` (TANGRAD_COMPILATION_CACHE_DIR) names a folder. An entry is a file
named by the digest of all that determines the program: the StableHLO text, the compile options, jaxlib's version, the
platform, and the processor's features. That is its key. It holds a header, the digest of key and executable together,
and XLA's serialised executable: one that was moved to another key's name does not fit its digest.
Several processes may use one folder: files appear by renaming, and one that is damaged, cut or foreign is ignored and
written anew.

An entry is machine code. So the folder must belong to the user and be closed to others for writing, or it is not used;
and so must each file in it, which may be older than the folder's mode.
Whatever goes wrong with the disk is logged and costs a compilation, nothing more.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import stat
import tempfile
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from tangrad._backend_xla import jaxlib_api, mlir, settings
from tangrad.core import HookContext, thread
from tangrad.core.backends import Logger, read_own_file
from tangrad.core.tools import hooks

logger = Logger(__name__)

_FAMILY = b"tangrad-xla-"  # of every version
MAGIC = _FAMILY + b"2\n"
SUFFIX = ".xlaexec"
_WRITING = ".writing-"
_DIGEST_BYTES = hashlib.sha256().digest_size


def get_or_compile(module: Any, devices: Sequence[Any], options: Any, name: str) -> Any:
    """The executable of a module: from the cache if it is there, else compiled, and then written."""
    client = devices[0].client
    raw_devices = [device.raw for device in devices]
    mlir_module = module.module
    folder = _folder(thread.compilation_cache_dir)
    if folder is None:
        return jaxlib_api.compile_and_load(client, mlir.bytecode(mlir_module), raw_devices, options)
    key = cache_key(mlir_module, devices, options)
    context = HookContext(name, "xla", client.platform, {"folder": str(folder), "key": key})
    path = folder / (key + SUFFIX)
    data = _read(path, key)
    if data is not None:
        try:
            executable = jaxlib_api.deserialize_executable(client, data, raw_devices, options)
        except (jaxlib_api.XlaRuntimeError, ValueError) as error:
            logger.warning("compilation cache: entry %s of %s is not usable and is written anew: %s", key, name, error)
        else:
            hooks.cache_hit(context, "disk")
            return executable
    hooks.cache_miss(context, "disk", "the entry is not usable" if path.exists() else "there is no entry")
    started = time.perf_counter()
    executable = jaxlib_api.compile_and_load(client, mlir.bytecode(mlir_module), raw_devices, options)
    if time.perf_counter() - started >= settings.xla_cache_min_compile_seconds.value:
        _store(folder, key, executable, name)
    return executable


# --- keys ------------------------------------------------------------------------------------------------------------


def cache_key(mlir_module: Any, devices: Sequence[Any], options: Any) -> str:
    """The digest of everything that the compiled program depends on."""
    digest = hashlib.sha256(MAGIC)
    client = devices[0].client
    parts = (
        mlir_module.operation.get_asm(enable_debug_info=False).encode(),
        options.SerializeAsString(),
        jaxlib_api.VERSION.encode(),
        client.platform.encode(),
        client.platform_version.encode(),
        "\n".join([f"{device.id} {device.device_kind}" for device in devices]).encode(),
        os.environ.get("XLA_FLAGS", "").encode(),
        processor_features().encode(),
    )
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


@lru_cache(1)
def processor_features() -> str:
    """What the machine code of CPU programs depends on: the processor and its instruction sets."""
    described = [platform.machine(), platform.processor()]
    try:
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.startswith(("flags", "Features", "model name")):
                described.append(line)
            elif not line:
                break  # the first processor stands for all
    except OSError:
        pass
    return "\n".join(described)


# --- files -----------------------------------------------------------------------------------------------------------


@lru_cache(8)
def _folder(setting: str | None) -> Path | None:
    """The cache's folder, made if need be; None where there is none or it is not ours alone."""
    if setting is None:
        return None
    folder = Path(setting).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = folder.stat()
    except OSError as error:
        logger.warning("compilation cache: folder %s is not usable, programs are not cached: %s", folder, error)
        return None
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        logger.warning(
            "compilation cache: folder %s can be written to by other users, programs are not cached: "
            "it must belong to you and be closed to others (chmod go-w)",
            folder,
        )
        return None
    return folder


def _read(path: Path, key: str) -> bytes | None:
    """The payload of an entry; None if it is missing, damaged, or another's."""
    try:
        contents = read_own_file(str(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        logger.warning("compilation cache: an entry cannot be used and is written anew: %s", error)
        return None
    payload = _payload(contents, key)
    if payload is None:
        logger.warning("compilation cache: %s is damaged or foreign; it is ignored and written anew", path)
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # the least recently used entries are the first to go
    return payload


def _payload(contents: bytes, key: str) -> bytes | None:
    start = len(MAGIC) + _DIGEST_BYTES
    payload = contents[start:]
    return payload if contents[:start] == _header(key, payload) else None


def _header(key: str, payload: bytes) -> bytes:
    """What stands before the payload in the entry of a key, and in no other."""
    return MAGIC + hashlib.sha256(bytes.fromhex(key) + payload).digest()


def _store(folder: Path, key: str, executable: Any, name: str) -> None:
    """Write an entry under a temporary name, and rename it. What cannot be serialised, or a full disk, is logged."""
    try:
        payload = jaxlib_api.serialize_executable(executable)
    except (jaxlib_api.XlaRuntimeError, ValueError) as error:
        logger.debug("compilation cache: %s cannot be serialised: %s", name, error)
        return
    contents = _header(key, payload) + payload
    limit = thread.compilation_cache_max_size
    if len(contents) < settings.xla_cache_min_entry_bytes.value or (limit is not None and len(contents) > limit):
        return
    temporary = None
    try:
        if limit is not None:
            _make_room(folder, limit - len(contents))
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=_WRITING)
        with os.fdopen(handle, "wb") as file:
            file.write(contents)
        os.replace(temporary, folder / (key + SUFFIX))
        temporary = None
    except OSError as error:
        logger.warning("compilation cache: %s is not written to %s: %s", name, folder, error)
    finally:
        if temporary is not None:
            _remove(Path(temporary))


ABANDONED_SECONDS = 3600


def _make_room(folder: Path, limit: int) -> None:
    """Remove the least recently used entries until the rest take at most `limit` bytes, and crashed writers' files.

    The user may keep other things in the folder: what has no name as entries have, or does not begin as they
    do, is neither counted nor touched.
    """
    entries = []
    for path in folder.iterdir():
        is_entry, is_unfinished = _ENTRY_NAME.fullmatch(path.name), _UNFINISHED_NAME.fullmatch(path.name)
        if not (is_entry or is_unfinished) or not _is_own(path, bool(is_unfinished)):
            continue
        try:
            status = path.lstat()
        except OSError:
            continue  # another process was faster
        if is_entry:
            entries.append((status.st_mtime, status.st_size, path))
        elif status.st_mtime < time.time() - ABANDONED_SECONDS:
            _remove(path)
    total = sum([size for _, size, _ in entries])
    for _, size, path in sorted(entries):
        if total <= limit:
            return
        _remove(path)
        total -= size


_ENTRY_NAME = re.compile(rf"[0-9a-f]{{{2 * _DIGEST_BYTES}}}{re.escape(SUFFIX)}")
_UNFINISHED_NAME = re.compile(rf"{re.escape(_WRITING)}[a-z0-9_]{{8}}")  # as `mkstemp` makes them


def _is_own(path: Path, may_be_empty: bool) -> bool:
    """Whether a file of such a name is an entry of some version, whole or not."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return False
        with path.open("rb") as file:
            beginning = file.read(len(_FAMILY))
    except OSError:
        return False
    return beginning == _FAMILY or (may_be_empty and beginning == b"")


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        logger.debug("compilation cache: %s cannot be removed: %s", path, error)
