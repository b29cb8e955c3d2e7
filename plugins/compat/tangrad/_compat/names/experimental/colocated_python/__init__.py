"""`jax.experimental.colocated_python`: Python that runs beside the devices of a cluster. There is none here."""

from __future__ import annotations

from typing import Any, NoReturn

_WHY = (
    "jax.experimental.colocated_python needs a cluster that runs Python beside its devices; Tangrad runs programs in "
    "the processes that call them"
)


def colocated_cpu_devices(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises NotImplementedError."""
    raise NotImplementedError(_WHY)


def colocated_python(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises NotImplementedError."""
    raise NotImplementedError(_WHY)


def colocated_python_class(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises NotImplementedError."""
    raise NotImplementedError(_WHY)
