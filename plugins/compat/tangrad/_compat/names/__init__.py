"""`jax` itself: what Tangrad calls otherwise."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import tangrad
from tangrad._compat.names.experimental.layout import Format
from tangrad._compat.names.version import __version__ as __version__
from tangrad._compat.names.version import __version_info__ as __version_info__
from tangrad._compat.settings import config as config
from tangrad._compat.settings import override, read_environment
from tangrad.core.settings import usable_settings

with suppress(ImportError):  # NumPy knows names such as "bfloat16" wherever jax was imported
    import ml_dtypes as _ml_dtypes

read_environment()

# Context managers of settings that are settings of Tangrad are Tangrad's, but for one that has another name here.
enable_checks = usable_settings()["check_jaxprs"]

allow_f16_reductions = override("jax_allow_f16_reductions")
array_garbage_collection_guard = override("jax_array_garbage_collection_guard")
auto_pcast = override("jax_auto_pcast")
debug_key_reuse = override("jax_debug_key_reuse")
no_execution = override("jax_no_execution")
remove_size_one_mesh_axis_from_type = override("jax_remove_size_one_mesh_axis_from_type")
softmax_custom_jvp = override("jax_softmax_custom_jvp")
thread_guard = override("jax_thread_guard")


def default_backend() -> str:
    """The platform of the devices that new arrays are made on: "cpu", "gpu" or "tpu".

    Here the backend has a name of its own, "numpy" or "xla": `tangrad.default_backend()`.
    """
    return tangrad.devices()[0].platform


def device_put(x: Any, device: Any = None, **options: Any) -> Any:
    """As `tangrad.device_put`; of a `Format` the sharding counts, since compilers choose layouts here."""

    def place(one: Any) -> Any:
        return one.sharding if isinstance(one, Format) else one

    wanted = tangrad.tree.map(place, device, is_leaf=lambda one: one is None)
    return tangrad.device_put(x, wanted, **options)
