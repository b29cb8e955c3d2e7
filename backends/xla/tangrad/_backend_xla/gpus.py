"""GPUs of NVIDIA and AMD: finds the PJRT plugin wheels that jax's users install, and makes a client from them.

`jax-cuda13-plugin` (or 12) brings `jax_plugins.xla_cuda13`, whose shared library is the compiler and runtime, and
`jax_cuda13_plugin`, whose extension modules hold the custom calls; `jax-rocm7-plugin` likewise. The Python module of
the first imports jax, so it is only located: nothing of jax is imported. A plugin gets a name of its own in jaxlib's
table: a name can be taken once, and jax takes "cuda".
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tangrad._backend_xla import jaxlib_api, jaxlib_calls
from tangrad._backend_xla.jaxlib_coordination import Coordination
from tangrad.core.backends import Logger

logger = Logger(__name__)

# NVIDIA's libraries, which must be in the process before the plugin looks for them: (folder under `nvidia`, library).
# The wheels for CUDA 13 share one folder. AMD's are the system's.
_LIBRARIES = {
    "cuda13": (
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
    "cuda12": (
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


class Vendor(NamedTuple):
    """Whose GPUs: how the wheels of their plugin are named, and how the system shows that there are some.

    Attributes:
        platform: its name among XLA's platforms, in small letters.
        generations: of its libraries, the newest first: numbers in the names of wheels.
        signs: files that are there where there is a GPU, so that loading 400 MB can be worth it.
        shown: the name of the platform that the plugin's clients are to show.
        install: what installs the plugin.
    """

    platform: str
    generations: tuple[str, ...]
    signs: tuple[str, ...]
    shown: str
    install: str

    @property
    def plugin_name(self) -> str:
        """Its name in jaxlib's table of plugins."""
        return f"tangrad_{self.platform}"

    def find_plugin(self) -> tuple[str, Path] | None:
        """The name and generation ("cuda13") and the library of the installed plugin, or None."""
        for generation in self.generations:
            name = f"{self.platform}{generation}"
            folder = _package_folder(f"jax_plugins.xla_{name}")
            library = None if folder is None else folder / f"xla_{self.platform}_plugin.so"
            if library is not None and library.exists():
                return name, library
        return None

    def has_device(self) -> bool:
        """Whether the system shows a GPU of this vendor."""
        return any([Path(sign).exists() for sign in self.signs])

    def make_client(self, coordination: Coordination) -> Any:
        """A client for the visible GPUs, and those of the processes that this one computes with, by NCCL or RCCL.

        Raises RuntimeError if the plugin is missing or finds no GPU.
        """
        found = self.find_plugin()
        if found is None:
            raise RuntimeError(f"no plugin for {self.shown} is installed: {self.install}")
        name, library = found
        _load_libraries(name)
        c_api = jaxlib_api.load_plugin(self.plugin_name, str(library))
        self._register_custom_calls(name, c_api)
        options = {**client_options(), "platform_name": self.shown}
        if coordination.client is not None:
            options |= {"node_id": coordination.process_index, "num_nodes": coordination.process_count}
        if coordination.local_devices is not None:
            options["visible_devices"] = list(coordination.local_devices)
        return jaxlib_api.make_plugin_client(self.plugin_name, options, coordination.client)

    def _register_custom_calls(self, name: str, c_api: object) -> None:
        try:
            extension = importlib.import_module(f"jax_{name}_plugin.{self.platform}_plugin_extension")
        except ImportError as error:
            logger.warning(
                "jax_%s_plugin has no extension module; linear algebra and callbacks are missing on %s: %s",
                name,
                self.shown,
                error,
            )
            return
        register = functools.partial(extension.register_custom_call_target, c_api)
        jaxlib_calls.set_custom_call_registrar(self.platform, register)
        for kind, capsule in extension.ffi_types().items():
            extension.register_custom_type(c_api, kind, capsule)
        for target, function in extension.ffi_handlers().items():
            jaxlib_calls.register_custom_call(target, function, self.platform)
        jaxlib_calls.register_gpu_libraries(self.platform)


CUDA = Vendor(
    "cuda",
    ("13", "12"),
    ("/dev/nvidia0", "/dev/nvidiactl", "/dev/dxg"),
    "cuda",
    "pip install 'tangrad[cuda]', or 'tangrad[cuda12]'",
)
ROCM = Vendor("rocm", ("7", "60"), ("/dev/kfd",), "ROCM", "pip install jax-rocm7-plugin of the release of jaxlib")
VENDORS = (CUDA, ROCM)


def _package_folder(name: str) -> Path | None:
    """The folder of a package, without importing it (its namespace parent, which holds no code, is imported)."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def _load_libraries(name: str) -> None:
    """Load NVIDIA's libraries from their wheels. One that is missing there is left to the system's loader."""
    for folder, library in _LIBRARIES.get(name, ()):
        root = _package_folder(f"nvidia.{folder}")
        if root is None:
            continue
        try:
            ctypes.CDLL(str(root / "lib" / library))
        except OSError as error:
            logger.debug("%s is not loaded from its wheel: %s", library, error)


def client_options(environ: Mapping[str, str] = os.environ) -> dict[str, object]:
    """The plugin's options, from the environment variables that XLA's users know (XLA_PYTHON_CLIENT_…)."""
    options: dict[str, object] = {}
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
    """The folder of ptxas and libdevice, for the compiler: CUDA_ROOT, else NVIDIA's wheels."""
    root = os.environ.get("CUDA_ROOT")
    if root:
        return root
    for name in ("nvidia.cu13", "nvidia.cuda_nvcc"):
        folder = _package_folder(name)
        if folder is not None:
            return str(folder)
    return None
