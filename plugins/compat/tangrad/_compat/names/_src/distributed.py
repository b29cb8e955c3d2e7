"""`jax._src.distributed`: what is known of the processes that compute together."""

from __future__ import annotations

from typing import Any

import tangrad


class _State:
    """As JAX's state of the same name, read only; `client` is what talks to the others, None where there are none."""

    @property
    def process_id(self) -> int:
        return tangrad.process_index()

    @property
    def num_processes(self) -> int:
        return tangrad.process_count()

    @property
    def client(self) -> Any:
        return None


global_state = _State()
