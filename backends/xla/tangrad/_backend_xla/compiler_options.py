"""What is asked of XLA's compiler, options and kept calls: merged, and, where XLA refuses them, explained."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_xla.jaxlib_api import VERSION
from tangrad._backend_xla.jaxlib_version import is_untested
from tangrad.core import ShapedArray
from tangrad.core.backends import CompileOptions

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import Module
    from tangrad.typing import Params


# What `compile_effort="fast"` means, for each platform: see docs/compiling.md for what it costs.
FAST: dict[str, dict[str, object]] = {
    "cpu": {"xla_backend_optimization_level": 0},
    "cuda": {"xla_gpu_autotune_level": 0},
    "rocm": {"xla_gpu_autotune_level": 0},
}


# XLA's CPUs leave products to a library that plans each of them when it first runs, those of each call of a region
# again: a millisecond, which small products do not earn back. See docs/compiling.md for what was measured.
UNPLANNED_PRODUCTS = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_REDUCE"}
SMALL, FEW, SHORT = 1 << 21, 32, 1024  # multiplications, products in one, and terms of a sum, at most


def is_small_product(left: ShapedArray, right: ShapedArray, out: ShapedArray, terms: int, batches: int) -> bool:
    """Whether a contraction takes no longer without a plan: `terms` for each element, of `batches` matrices."""
    single = all([aval.dtype == np.float32 for aval in (left, right, out)])
    return single and out.size * terms <= SMALL and batches <= FEW and terms <= SHORT


class CompilerOptionError(ValueError, RuntimeError):
    """XLA refuses an option of its compiler: in JAX that is a JaxRuntimeError, which is RuntimeError here."""


# Words of XLA's error for a name that it does not have, and for a value of another kind.
_REFUSALS = ("No such compile option", "INVALID_ARGUMENT")


def with_effort(extra: Mapping[str, Any], platform: str) -> dict[str, object]:
    """The options of a program for which `extra` names an effort; those that the user gave hold."""
    usual = FAST.get(platform, {}) if extra["compile_effort"] == "fast" else {}
    return {**usual, **extra.get("compiler_options", {})}


def for_calls(module: Module, options: dict[str, object] | None) -> dict[str, object] | None:
    """The options of a module with calls of regions: those given, and what small products make worth while."""
    plans = module.has_large_products or is_untested(VERSION)
    return options if plans else {**UNPLANNED_PRODUCTS, **(options or {})}


def with_extra(options: CompileOptions, extra: Params) -> CompileOptions:
    """The options with more compiler options; where both name one, that of `extra` holds."""
    named = {**options.extra.get("compiler_options", {}), **extra.get("compiler_options", {})}
    return options.changed(extra={**options.extra, **extra, "compiler_options": named})


def explain(error: Exception, options: CompileOptions) -> None:
    """Raise ValueError, naming the options, where XLA's error is that it refuses one of them."""
    given = options.extra.get("compiler_options")
    if given and any([words in str(error) for words in _REFUSALS]):
        raise CompilerOptionError(
            f"{options.name}: XLA refuses one of the compiler_options {given}: {error}"
        ) from error


def warn_of_calls(name: str, error: Exception) -> None:
    """Warn that a program is compiled whole, and why."""
    warnings.warn(
        f"XLA does not compile {name!r} with its regions as functions, so it is compiled whole "
        f"(compile_regions=False does so from the beginning): {error}",
        RuntimeWarning,
        stacklevel=2,
    )
