"""NVIDIA GPUs: finds the PJRT plugin wheels that jax's users install, and makes a client from them. Imports nothing
of jax.

`jax-cuda13-plugin` (or 12) brings `jax_plugins.xla_cuda13`, whose shared library is the compiler and runtime, and
`jax_cuda13_plugin`, whose extension module holds the custom calls. The Python module of the first imports jax, so it
is only located. The plugin gets a name of its own in jaxlib's table: a name can be taken once, and jax takes "cuda".
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.util
import os
from pathlib import Path
from typing import Any

from tangrad.backends.xla import jaxlib_api, jaxlib_calls
from tangrad.core import Logger

logger = Logger(__name__)

GENERATIONS = ("13", "12")
PLUGIN_NAME = "tangrad_cuda"

# NVIDIA's libraries, which must be in the process before the plugin looks for them: (folder under `nvidia`, library).
# The wheels for CUDA 13 share one folder.
_LIBRARIES = {
    "13": (
        ("cu13", "libcudart.so.13"),
        ("cu13", "libnvrtc.so.13"),
        ("cu13", "libcublas.so.13"),
        ("cu13", "libcublasLt.so.13"),
        ("nccl", "libnccl.so.2"),
        ("cu13", "libcupti.so.13"),
        ("cu13", "libcusparse.so.12"),
        ("cu13", "libcusolver.so.12"),
        ("cu13", "libcufft.so.12"),
        ("nvshmem", "libnvshmem_host.so.3"),
        ("cudnn", "libcudnn.so.9"),
    ),
    "12": (
        ("cuda_runtime", "libcudart.so.12"),
        ("cuda_nvrtc", "libnvrtc.so.12"),
        ("cublas", "libcublas.so.12"),
        ("cublas", "libcublasLt.so.12"),
        ("nccl", "libnccl.so.2"),
        ("cuda_cupti", "libcupti.so.12"),
        ("cusparse", "libcusparse.so.12"),
        ("cusolver", "libcusolver.so.11"),
        ("cufft", "libcufft.so.11"),
        ("nvshmem", "libnvshmem_host.so.3"),
        ("cudnn", "libcudnn.so.9"),
    ),
}


def find_plugin() -> tuple[str, Path] | None:
    """The CUDA generation and the library of the installed plugin, or None."""
    for generation in GENERATIONS:
        folder = _package_folder(f"jax_plugins.xla_cuda{generation}")
        if folder is not None and (folder / "xla_cuda_plugin.so").exists():
            return generation, folder / "xla_cuda_plugin.so"
    return None


def _package_folder(name: str) -> Path | None:
    """Where a package lies, without importing it (its namespace parent, which holds no code, is imported)."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def has_nvidia_device() -> bool:
    """Whether the system shows an NVIDIA GPU, so that loading 400 MB can be worth it."""
    return Path("/dev/nvidia0").exists() or Path("/dev/nvidiactl").exists() or Path("/dev/dxg").exists()


def make_client(distributed_client: Any = None) -> Any:
    """A client for the visible NVIDIA GPUs. Raises RuntimeError if the plugin is missing or finds no GPU."""
    found = find_plugin()
    if found is None:
        raise RuntimeError("no CUDA plugin is installed: pip install 'tangrad-backend-xla[cuda]'")
    generation, library = found
    _load_libraries(generation)
    c_api = jaxlib_api.load_plugin(PLUGIN_NAME, str(library))
    _register_custom_calls(generation, c_api)
    return jaxlib_api.make_plugin_client(PLUGIN_NAME, client_options(), distributed_client)


def _load_libraries(generation: str) -> None:
    """Load NVIDIA's libraries from their wheels. One that is missing there is left to the system's loader."""
    for folder, library in _LIBRARIES[generation]:
        root = _package_folder(f"nvidia.{folder}")
        if root is None:
            continue
        try:
            ctypes.CDLL(str(root / "lib" / library))
        except OSError as error:
            logger.debug("%s is not loaded from its wheel: %s", library, error)


def _register_custom_calls(generation: str, c_api: Any) -> None:
    try:
        extension = importlib.import_module(f"jax_cuda{generation}_plugin.cuda_plugin_extension")
    except ImportError as error:
        logger.warning(
            "jax_cuda%s_plugin has no extension module; custom calls are missing on CUDA: %s", generation, error
        )
        return
    jaxlib_calls.set_custom_call_registrar("cuda", functools.partial(extension.register_custom_call_target, c_api))
    for name, capsule in extension.ffi_types().items():
        extension.register_custom_type(c_api, name, capsule)
    for name, function in extension.ffi_handlers().items():
        jaxlib_calls.register_custom_call(name, function, "cuda")


def client_options(environ: Any = os.environ) -> dict[str, Any]:
    """The plugin's options, from the environment variables that XLA's users know (XLA_PYTHON_CLIENT_…)."""
    options: dict[str, Any] = {"platform_name": "cuda"}
    allocator = environ.get("XLA_PYTHON_CLIENT_ALLOCATOR", "default").lower()
    allocators = ("default", "platform", "bfc", "cuda_async", "vmm")
    if allocator not in allocators:
        raise ValueError(f"XLA_PYTHON_CLIENT_ALLOCATOR must be one of {', '.join(allocators)}, got {allocator!r}")
    options["allocator"] = allocator
    fraction = environ.get("XLA_CLIENT_MEM_FRACTION") or environ.get("XLA_PYTHON_CLIENT_MEM_FRACTION")
    if fraction:
        options["memory_fraction"] = float(fraction)
    preallocate = environ.get("XLA_PYTHON_CLIENT_PREALLOCATE")
    if preallocate:
        options["preallocate"] = preallocate not in ("false", "False", "0")
    collective = environ.get("XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB")
    if collective:
        options["collective_memory_size"] = int(collective) << 20
    visible = environ.get("TANGRAD_CUDA_VISIBLE_DEVICES", "all")
    if visible != "all":
        options["visible_devices"] = [int(index) for index in visible.split(",")]
    return options


def cuda_data_folder() -> str | None:
    """Where ptxas and libdevice lie, for the compiler: CUDA_ROOT, else NVIDIA's wheels."""
    root = os.environ.get("CUDA_ROOT")
    if root:
        return root
    for name in ("nvidia.cu13", "nvidia.cuda_nvcc"):
        folder = _package_folder(name)
        if folder is not None:
            return str(folder)
    return None
