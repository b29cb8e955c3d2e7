"""Custom calls: functions of C that programs call, registered with jaxlib's runtime by name and platform."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from jaxlib import _jax  # isort: skip

if TYPE_CHECKING:
    from typing import NoReturn


GPUS = ("cuda", "rocm")


def host_call_target(platform: str) -> str:
    """The custom call by which programs call the Python functions that `compile_and_load` is given.

    Its attribute `index`, an unsigned 64-bit integer, is the function's number. The function gets read-only NumPy
    arrays that are good during the call (None for a token) and returns a tuple of NumPy arrays (anything for a token).
    What it raises becomes an XlaRuntimeError with the traceback as text.

    Raises NotImplementedError for a platform that has none.
    """
    if platform not in ("cpu", *GPUS):
        raise NotImplementedError(f"programs on the platform {platform!r} cannot call Python functions")
    return f"xla_ffi_python_{'gpu' if platform in GPUS else 'cpu'}_callback"


# By this custom call the partitioner reports how it has sharded a value; jaxlib itself replaces it.
INSPECT_SHARDING = "InspectSharding"


def inspection(report: Callable[[Any], object]) -> tuple[bytes, Callable[[object], None]]:
    """The configuration of `INSPECT_SHARDING` that has `report` called with the HLO sharding, and what must live until
    the program is compiled: the configuration is its address. `report` must not raise."""

    def reported(sharding: object) -> None:
        report(sharding)

    return _jax.encode_inspect_sharding_callback(reported), reported


def register_partitioner(name: str, partition: Callable[..., object]) -> None:
    """Have the partitioner call a Python function for a custom call of this name that it divides.

    It is called as `partition(shapes, shardings, result_shape, result_sharding, configuration)`, with jaxlib's objects
    and the call's configuration as bytes, and returns `(program of a part as bytes, shardings, that of the result)`.
    """
    if ("partitioner", name) not in _registered:
        _jax.register_custom_call_partitioner(
            name, _unchanged, partition, _unasked, can_side_effecting_have_replicated_sharding=True
        )
        _registered.add(("partitioner", name))


def _unchanged(sharding: object, shape: object, configuration: bytes) -> object:
    return sharding


def _unasked(*args: object) -> NoReturn:
    raise NotImplementedError("shardings go by the rules of the dialect sdy")


# Registrations are process-wide: jax may have made the same ones already. XLA takes a repeated registration of one
# function as long as it is the same function; a set keeps us from repeating our own.
_registered: set[tuple[str, str]] = set()
_plugin_registrars: dict[str, Any] = {}


def set_custom_call_registrar(platform: str, registrar: object) -> None:
    """How a plugin's platform takes custom calls: `registrar(name, function, xla_platform, api_version, traits)`."""
    _plugin_registrars[platform] = registrar


def register_custom_call(name: str, function: object, platform: str, api_version: int = 1, traits: int = 0) -> None:
    """Make a function callable from programs of a platform by `stablehlo.custom_call @name`.

    It is a capsule, or a dictionary of capsules by stage.
    """
    if (platform, name) in _registered:
        return
    registrar = _plugin_registrars.get(platform, _jax.register_custom_call_target)
    registrar(name, function, _xla_platform(platform), api_version, traits)
    _registered.add((platform, name))


def register_custom_type(name: str, registration: dict[str, object]) -> None:
    """Make known the type of the state of functions that programs of the host call: its capsules by name."""
    if ("type", name) not in _registered:
        _jax.register_custom_type(name, registration)
        _registered.add(("type", name))


def has_custom_call(name: str, platform: str) -> bool:
    """Whether programs of a platform can call a function of this name, whichever package registered it."""
    if platform == "cpu":
        register_lapack()
    return name in _jax.custom_call_targets(_xla_platform(platform))


# Who else has functions, of users: `supply(name, platform)` registers one, and returns whether there is one.
suppliers: list[Callable[[str, str], bool]] = []


def make_callable(targets: Iterable[str], platform: str) -> None:
    """Register what a program calls that was lowered elsewhere, as the rules of lowering do for those made here."""
    wanted = set(targets)
    if platform == "cpu" and any([name.endswith("_ffi") for name in wanted]):
        register_lapack()
    if platform in GPUS and any(["hybrid_" in name for name in wanted]):
        initialize_hybrid_functions()
    for name in wanted:
        any([supply(name, platform) for supply in suppliers])


def _xla_platform(platform: str) -> str:
    return {"cpu": "Host", "cuda": "CUDA", "rocm": "ROCM"}.get(platform, platform)


def register_lapack() -> None:
    """Register LAPACK's functions, which jaxlib wraps and SciPy provides, as custom calls of the CPU."""
    if ("cpu", "lapack") in _registered:
        return
    from jaxlib.cpu import _lapack  # type: ignore[attr-defined]

    for name, function in _lapack.registrations().items():
        register_custom_call(name, function, "cpu", 1 if name.endswith("_ffi") else 0)
    _lapack.initialize()
    _registered.add(("cpu", "lapack"))


def register_gpu_libraries(platform: str) -> None:
    """Register the functions of a GPU's libraries (cuSOLVER, cuSPARSE and others) that the installed plugin wraps."""
    from jaxlib import gpu_linalg, gpu_prng, gpu_solver, gpu_sparse

    for wrapped in (gpu_linalg, gpu_prng, gpu_solver, gpu_sparse):
        for name, function, api_version in wrapped.registrations()[_xla_platform(platform)]:
            register_custom_call(name, function, platform, api_version)


def initialize_hybrid_functions() -> None:
    """Let the functions of GPUs that compute on the host find LAPACK's; without a plugin this does nothing."""
    from jaxlib import gpu_solver

    gpu_solver.initialize_hybrid_kernels()
