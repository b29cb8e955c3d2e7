# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._core.kernel.jaxpr import weak_key as weak_key
from tangrad._core.kernel.keys import (
    FixedParams as FixedParams,
    exact_equality as exact_equality,
    params_key as params_key,
    typed_key as typed_key,
    value_key as value_key,
)
from tangrad._core.settings.caches import (
    JaxprCache as JaxprCache,
    RecentlyUsed as RecentlyUsed,
    clear_caches as clear_caches,
    register_cache as register_cache,
)
from tangrad._core.settings.forks import (
    after_fork as after_fork,
    free_after_fork as free_after_fork,
)

__all__ = [
    "FixedParams",
    "JaxprCache",
    "RecentlyUsed",
    "after_fork",
    "clear_caches",
    "exact_equality",
    "free_after_fork",
    "params_key",
    "register_cache",
    "typed_key",
    "value_key",
    "weak_key",
]
