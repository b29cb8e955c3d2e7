"""What a backend has whose compiled programs can be written to files, and read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from tangrad.core import Executable, ShapedArray


@runtime_checkable
class StoresPrograms(Protocol):
    """A backend that writes its compiled programs. Both methods are optional in backends: this asks for both."""

    def store_program(self, program: Any) -> tuple[dict[str, Any], bytes]:
        """The bytes of one of its executables, and what they are for: names with text, numbers, lists and dictionaries.

        Raises NotImplementedError for a program that cannot be written, with the reason.
        """

    def restore_program(
        self,
        name: str,
        facts: Mapping[str, Any],
        data: bytes,
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
    ) -> Executable:
        """The executable of bytes, and of the types of its arguments and results.

        `facts` has what `store_program` returned, and a file may say anything; `facts["device"]` is the device that the
        program was compiled for by `jit(device=)`, or None. Raises ValueError where they are not for
        this machine, this version and this device.
        """
        ...
