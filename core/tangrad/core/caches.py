"""Caches, the keys that things are found by in them, and what becomes of both in a forked process."""

from tangrad._core.composition.doors import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._core.kernel.jaxpr": "weak_key",
        "tangrad._core.kernel.keys": "exact_equality FixedParams params_key typed_key",
        "tangrad._core.kernel.primitive": "DirectCalls",
        "tangrad._core.settings.caches": "clear_caches JaxprCache RecentlyUsed register_cache",
        "tangrad._core.settings.threads": "after_fork free_after_fork",
    },
    renamed={"value_key": "params_key"},
)
