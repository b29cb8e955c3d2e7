# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._custom_rules.jacobians.checking import (
    check_grads as check_grads,
    check_jvp as check_jvp,
    check_vjp as check_vjp,
)

__all__ = [
    "check_grads",
    "check_jvp",
    "check_vjp",
]
