"""`jax` itself: what Tangrad calls otherwise."""

from __future__ import annotations

import tangrad
from tangrad.compat.jax.names.version import __version__ as __version__
from tangrad.compat.jax.names.version import __version_info__ as __version_info__
from tangrad.compat.jax.settings import Config, read_environment

try:  # NumPy knows names such as "bfloat16" wherever jax was imported
    import ml_dtypes as _ml_dtypes  # noqa: F401
except ImportError:
    pass

read_environment()
config = Config()


def default_backend() -> str:
    """The platform of the devices that new arrays are made on: "cpu", "gpu" or "tpu".

    Here the backend has a name of its own, "numpy" or "xla": `tangrad.default_backend()`.
    """
    return tangrad.devices()[0].platform


def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of the processes that compute together."""
    return list(range(tangrad.process_count(backend)))
