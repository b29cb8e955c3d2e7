"""The persistent compilation cache: compiled programs on disk, shared by processes.

It is off unless the setting `compilation_cache_dir` (TANGRAD_COMPILATION_CACHE_DIR) names a folder, or `cache.enable`
is called. A program's key is the digest of all that determines it: the StableHLO text, the compile options, jaxlib's
version, the platform, and the processor's features. `cache_files` has what becomes of it on disk.
Whatever goes wrong with the disk is logged and costs a compilation, nothing more.
"""

from __future__ import annotations

import hashlib
import os
import platform as machine
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tangrad._backend_xla import cache_files, jaxlib_api, mlir, settings
from tangrad.core import HookContext, thread
from tangrad.core.backends import Logger
from tangrad.core.tools import hooks

if TYPE_CHECKING:
    from tangrad._backend_xla.clients import XlaDevice
    from tangrad._backend_xla.lowering import Module

logger = Logger(__name__)


def get_or_compile(module: Module, devices: Sequence[XlaDevice], options: object, name: str) -> tuple[Any, bool]:
    """The executable of a module, and whether it was in the cache; else it is compiled, and then written."""
    client = devices[0].client
    raw_devices = [device.raw for device in devices]
    mlir_module = module.module
    folder = cache_files.usable_folder(thread.compilation_cache_dir)
    if folder is None:
        return jaxlib_api.compile_and_load(client, mlir.bytecode(mlir_module), raw_devices, options), False
    key = cache_key(mlir_module, devices, options)
    context = HookContext(name, "xla", client.platform, {"folder": str(folder), "key": key})
    path = cache_files.path_of(folder, key)
    data = cache_files.read(path, key)
    if data is not None:
        try:
            executable = jaxlib_api.deserialize_executable(client, data, raw_devices, options)
        except (jaxlib_api.XlaRuntimeError, ValueError) as error:
            logger.warning("compilation cache: entry %s of %s is not usable and is written anew: %s", key, name, error)
        else:
            hooks.cache_hit(context, "disk")
            return executable, True
    hooks.cache_miss(context, "disk", "the entry is not usable" if path.exists() else "there is no entry")
    started = time.perf_counter()
    executable = jaxlib_api.compile_and_load(client, mlir.bytecode(mlir_module), raw_devices, options)
    seconds = time.perf_counter() - started
    if seconds >= settings.xla_cache_min_compile_seconds.value:
        _store(folder, key, executable, name, client.platform, seconds)
    return executable, False


# --- keys ------------------------------------------------------------------------------------------------------------


def cache_key(mlir_module: Any, devices: Sequence[XlaDevice], options: Any) -> str:
    """The digest of everything that the compiled program depends on."""
    digest = hashlib.sha256(cache_files.MAGIC)
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
    described = [machine.machine()]
    try:
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.startswith(("flags", "Features", "model name")):
                described.append(line)
            elif not line:
                break  # the first processor stands for all
    except OSError:
        described.append(machine.processor())  # by a process of its own
    return "\n".join(described)


# --- writing ---------------------------------------------------------------------------------------------------------


def _store(folder: Path, key: str, executable: object, name: str, platform: str, seconds: float) -> None:
    """Write an entry, if it can be serialised and is large enough to be worth a file."""
    try:
        payload = jaxlib_api.serialize_executable(executable)
    except (jaxlib_api.XlaRuntimeError, ValueError) as error:
        logger.debug("compilation cache: %s cannot be serialised: %s", name, error)
        return
    description = cache_files.Description(name, jaxlib_api.VERSION, platform, f"{seconds:.3f}")
    contents = cache_files.packed(key, description, payload)
    if len(contents) >= settings.xla_cache_min_entry_bytes.value:
        cache_files.write(folder, key, contents, name, thread.compilation_cache_max_size)
