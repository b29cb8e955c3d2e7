"""The settings of jax by their names there: `jax.config`, and the environment variables `JAX_...`.

A setting that Tangrad has, under its own name or another, is set there. Others concern machinery that there is none of
here: those take the values that change no result, and refuse the rest.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import tangrad
from tangrad.core import Setting, usable_settings

PREFIX = "jax_"

# What Tangrad calls otherwise.
RENAMED = {
    "enable_checks": "check_jaxprs",
    "platforms": "xla_platforms",
    "platform_name": "xla_platforms",
    "compilation_cache_max_size": "compilation_cache_max_size",
    "persistent_cache_min_compile_time_secs": "xla_cache_min_compile_seconds",
}

# What has no counterpart here, and the values of it that a program may ask for: those that say what is done anyway.
# None: any value, since it changes no result (tuning, other checks, how errors look).
WITHOUT_COUNTERPART: dict[str, tuple[Any, ...] | None] = {
    "array_garbage_collection_guard": ("allow",),
    "cpu_enable_async_dispatch": None,
    "debug_key_reuse": (False,),
    "default_prng_impl": ("threefry2x32",),
    "default_dtype_bits": ("32", 32),
    "enable_compilation_cache": None,
    "enable_custom_prng": (False,),
    "enable_memories": (False, True),
    "explain_cache_misses": None,
    "include_full_tracebacks_in_locations": None,
    "legacy_prng_key": ("allow",),
    "log_checkpoint_residuals": None,
    "memory_fitting_effort": None,
    "mutable_array_checks": None,
    "optimization_level": None,
    "persistent_cache_min_entry_size_bytes": None,
    "pmap_no_rank_reduction": None,
    "pmap_shmap_merge": None,
    "raise_persistent_cache_errors": None,
    "random_seed_offset": (0,),
    "remat_opt_barrier": None,
    "softmax_custom_jvp": (True,),
    "transfer_guard": ("allow", None),
    "transfer_guard_device_to_device": ("allow", None),
    "transfer_guard_device_to_host": ("allow", None),
    "transfer_guard_host_to_device": ("allow", None),
    "use_shardy_partitioner": (True,),
}


class Config:
    """`jax.config`: settings by their names in jax, `jax_enable_x64` for `enable_x64`.

    >>> import tangrad.compat.jax
    >>> with tangrad.compat.jax.install():
    ...     import jax
    ...     jax.config.update("jax_debug_nans", False)
    >>> jax.config.jax_debug_nans
    False
    """

    __slots__ = ("_unchanged",)
    _unchanged: dict[str, Any]

    def __init__(self) -> None:
        object.__setattr__(self, "_unchanged", {})

    @property
    def x64_enabled(self) -> bool:
        """Whether 64-bit dtypes are in use."""
        return bool(tangrad.config.enable_x64)

    def update(self, name: str, value: Any) -> None:
        """Set a setting. Raises AttributeError for one that neither has, ValueError for a value that is refused."""
        ours = _own_name(name)
        if ours in WITHOUT_COUNTERPART:
            accepted = WITHOUT_COUNTERPART[ours]
            if accepted is not None and value not in accepted:
                raise ValueError(
                    f"jax's setting {name!r} cannot be {value!r} in Tangrad, of which 'jax' is an alias here "
                    f"(tangrad.compat.jax): it is {' or '.join(map(repr, accepted))}"
                )
            self._unchanged[ours] = value
        else:
            tangrad.config.update(ours, value)

    def parse_flags_with_absl(self) -> None:
        """Do nothing: settings are not read from the command line, in which programs for absl may have them."""

    def read(self, name: str) -> Any:
        """The value of a setting."""
        return getattr(self, name)

    @property
    def values(self) -> Mapping[str, Any]:
        """The name in jax, and the value, of every setting."""
        others = {name: self._unchanged.get(name, (of or (None,))[0]) for name, of in WITHOUT_COUNTERPART.items()}
        return {PREFIX + name: value for name, value in {**others, **tangrad.config.values}.items()}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        ours = _own_name(name)
        if ours in WITHOUT_COUNTERPART:
            return self._unchanged.get(ours, (WITHOUT_COUNTERPART[ours] or (None,))[0])
        return getattr(tangrad.config, ours)

    def __setattr__(self, name: str, value: Any) -> None:
        self.update(name, value)


def override(name: str) -> Callable[[Any], AbstractContextManager[None]]:
    """The context manager of jax for a setting without counterpart, which takes the values that change nothing."""

    @contextmanager
    def overridden(value: Any = True) -> Iterator[None]:
        previous = config.read(name)
        config.update(name, value)
        try:
            yield
        finally:
            config.update(name, previous)

    return overridden


def _own_name(name: str) -> str:
    bare = name.removeprefix(PREFIX)
    return RENAMED.get(bare, bare)


config = Config()


def read_environment() -> None:
    """Set what variables such as JAX_ENABLE_X64 say, where Tangrad's own variable for it says nothing."""
    for variable, text in os.environ.items():
        if not variable.startswith("JAX_"):
            continue
        setting = usable_settings().get(_own_name(variable.lower()))
        if setting is not None and setting.environment_variable not in os.environ:
            _set(setting, variable, text)


def _set(setting: Setting, variable: str, text: str) -> None:
    try:
        setting.set(setting.parse(text))
    except (TypeError, ValueError) as error:
        warnings.warn(f"the environment variable {variable}={text!r} is not used: {error}", UserWarning, stacklevel=3)
