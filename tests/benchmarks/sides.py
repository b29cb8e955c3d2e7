"""The sides of a comparison: Tangrad on each backend, and its peers. A process each, with an environment and an `api`.

Programs are written once against `side.api()`, which is the module `tangrad` or `jax` (they share names); for HIPS
autograd it holds `numpy`, `grad` and `value_and_grad` only.
"""

import contextlib
import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from .measure import counter

SUBMODULES = ("numpy", "lax", "nn", "random", "scipy.special", "scipy.stats", "sharding")


@dataclass(frozen=True, slots=True)
class Side:
    """One side: `name`, what to call it in a table, the module behind it, and its environment variables.

    `interpreter` says whose it runs in: of a 'peer', of 'xmap', a JAX that still has it, or of 'torch'; Tangrad has its
    own.
    """

    name: str
    title: str
    module: str
    environment: tuple[tuple[str, str], ...] = ()
    interpreter: str = "peer"

    def compilations(self) -> Callable[[], int]:
        """The function that returns how many programs the side has compiled."""
        return counter(self.module)

    def api(self) -> Any:
        """The namespace that the programs of this side use (imports it)."""
        if self.module == "autograd":
            return _autograd_api()
        if self.module == "numpy":
            return SimpleNamespace(numpy=importlib.import_module("numpy"))
        for name in SUBMODULES:
            _import_where_installed(f"{self.module}.{name}")
        return importlib.import_module(self.module)


def _import_where_installed(name: str) -> None:
    """Import a submodule; a distribution that is not installed costs only the rows that need it."""
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module(name)


def _autograd_api() -> Any:
    autograd = importlib.import_module("autograd")
    return SimpleNamespace(
        numpy=importlib.import_module("autograd.numpy"), value_and_grad=autograd.value_and_grad, grad=autograd.grad
    )


TANGRAD_NUMPY = Side("tangrad-numpy", "Tangrad N", "tangrad", (("TANGRAD_BACKEND", "numpy"),))
TANGRAD_XLA = Side("tangrad-xla", "Tangrad X", "tangrad", (("TANGRAD_BACKEND", "xla"), ("JAX_PLATFORMS", "cpu")))
TANGRAD_XLA_WHOLE = replace(
    TANGRAD_XLA,
    name="tangrad-xla-whole",
    title="compiled whole",
    environment=(*TANGRAD_XLA.environment, ("TANGRAD_COMPILE_REGIONS", "false")),
)
JAX = Side("jax", "JAX", "jax", (("JAX_PLATFORMS", "cpu"),))

EIGHT = 8  # devices of the processor; in processes of their own, as they share its cores
_OF_TANGRAD = (("TANGRAD_NUM_CPU_DEVICES", str(EIGHT)),)
_OF_JAX = (("XLA_FLAGS", f"--xla_force_host_platform_device_count={EIGHT}"),)
TANGRAD_NUMPY_8 = replace(TANGRAD_NUMPY, name="tangrad-numpy-8", environment=(*TANGRAD_NUMPY.environment, *_OF_TANGRAD))
TANGRAD_XLA_8 = replace(TANGRAD_XLA, name="tangrad-xla-8", environment=(*TANGRAD_XLA.environment, *_OF_TANGRAD))
JAX_8 = replace(JAX, name="jax-8", environment=(*JAX.environment, *_OF_JAX))
JAX_0_4_23 = replace(JAX_8, name="jax-0.4.23", title="JAX 0.4.23", interpreter="xmap")
JAX_AGAIN_8 = replace(JAX_8, name="jax-again-8")
JAX_AGAIN = Side("jax-again", "JAX", "jax", JAX.environment)  # in Tangrad's place in the self-test
AUTOGRAD = Side("autograd", "autograd", "autograd")
NUMPY = Side("numpy", "NumPy", "numpy")
TORCH = Side("torch", "PyTorch", "torch", interpreter="torch")

EVERY = (
    TANGRAD_NUMPY,
    TANGRAD_XLA,
    TANGRAD_XLA_WHOLE,
    TANGRAD_NUMPY_8,
    TANGRAD_XLA_8,
    JAX,
    JAX_8,
    JAX_0_4_23,
    JAX_AGAIN,
    JAX_AGAIN_8,
    AUTOGRAD,
    NUMPY,
    TORCH,
)
SIDES = {side.name: side for side in EVERY}
