"""`jax.experimental.array_serialization.serialization`: what managers of checkpoints are derived from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class GlobalAsyncCheckpointManagerBase(ABC):
    """What writes arrays to files while the program goes on. There is no manager here: classes may inherit from it."""

    @abstractmethod
    def check_for_errors(self) -> None:
        """Raise what went wrong in the background."""

    @abstractmethod
    def wait_until_finished(self) -> None:
        """Wait until everything is written."""

    @abstractmethod
    def serialize(self, *args: Any, **kwargs: Any) -> None:
        """Begin to write arrays."""

    @abstractmethod
    def deserialize(self, *args: Any, **kwargs: Any) -> Any:
        """Read arrays."""
