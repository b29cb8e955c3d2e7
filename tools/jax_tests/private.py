"""Stand-ins for the private names of JAX that its test files ask for, so that they can be imported.

A private name that the alias lacks is looked up among the public ones (`jax._src.core.new_ref` is `jax.new_ref`). What
is nowhere is an `Absent`: it can be read while files are collected, and skips the test that uses it. A public name that
is missing is treated alike, and counted apart.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import sys
import unittest
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from enum import Enum
from functools import lru_cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, ClassVar, NoReturn

import ml_dtypes
import numpy as np

import tangrad

# The class of the alias' modules has no door: plugins do not extend it.
from tangrad._compat.finder import AliasFinder, AliasModule

ASKED = "asks for the "

# Modules of the checkout itself: what its test files share.
_OF_CHECKOUT = (
    "jax._src.internal_test_util",
    "jax._src.public_test_util",
    "jax._src.test_loader",
    "jax._src.test_util",
    "jax._src.test_warning_util",
    "jax.experimental.sparse.test_util",
)
# Where private names are looked up under the same name.
_PUBLIC = (
    "jax",
    "jax.sharding",
    "jax.dtypes",
    "jax.errors",
    "jax.experimental.maps",
    "jax.lax",
    "jax.tree_util",
    "jax.ref",
    "jax.experimental",
    "jax.numpy",
    "jax.extend.random",
)
_tangrad: Any = tangrad


class AsksForAbsent(unittest.SkipTest):
    """A test uses a name that is not there."""


class Absent:
    """A name that is not there, and what one would get from it."""

    collecting: ClassVar[bool] = True

    def __init__(self, name: str) -> None:
        self.__dict__["_absent"] = name

    def _ask(self) -> NoReturn:
        raise AsksForAbsent(f"{ASKED}{'private' if is_private(self._absent) else 'public'} name {self._absent}")

    def __getattr__(self, name: str) -> Any:
        if name in ("__name__", "__qualname__"):
            return self._absent.rpartition(".")[2]
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        full_name = f"{self._absent}.{name}"
        return _STAND_INS[full_name]() if full_name in _STAND_INS else Absent(full_name)

    def __call__(self, *args: Any, **options: Any) -> Any:
        if self._absent.endswith(".cache_clear"):
            return None  # there is no such cache
        if not self.collecting:
            self._ask()
        if len(args) == 1 and not options and isinstance(args[0], (FunctionType, type)):
            return args[0]  # as a decorator
        return Absent(f"{self._absent}()")

    def __bool__(self) -> bool:
        return self.collecting is False and self._ask()

    def __iter__(self) -> Iterator[Any]:
        return iter((Absent(f"{self._absent}[]"),)) if self.collecting else self._ask()

    def __add__(self, other: Any) -> Any:
        return other if self.collecting else self._ask()

    __radd__ = __mul__ = __rmul__ = __sub__ = __rsub__ = __floordiv__ = __mod__ = __add__

    def __neg__(self) -> Absent:
        return self if self.collecting else self._ask()

    def __setitem__(self, key: object, value: object) -> None:
        """A rule written down for a primitive: of use to nothing here."""
        if not self.collecting:
            self._ask()

    def __enter__(self) -> NoReturn:
        self._ask()

    def __exit__(self, *_: object) -> None: ...

    def __instancecheck__(self, value: object) -> bool:
        return self.collecting is False and self._ask()

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (object,)

    def __repr__(self) -> str:
        return f"<private {self._absent}>"


def is_private(name: str) -> bool:
    """Whether JAX promises nothing about a name."""
    return name.startswith(("jax.interpreters", "jax.lib")) or any(part.startswith("_") for part in name.split("."))


class Flag:
    """A flag of JAX's test files: it has its default."""

    def __init__(self, name: str = "", default: Any = None, *_: Any, **__: Any) -> None:
        self.value = default

    def __bool__(self) -> bool:
        return bool(self.value)

    def __call__(self, value: Any = None) -> AbstractContextManager[None]:
        return nullcontext()


def _nothing(*args: object, **options: object) -> None:
    """Do nothing."""


def _no(*args: object, **options: object) -> bool:
    return False


def _programs_in(jaxpr: Any) -> Iterator[Any]:
    for equation in jaxpr.eqns:
        for value in equation.params.values():
            for each in value if isinstance(value, (list, tuple)) else [value]:
                if hasattr(each, "eqns"):
                    yield getattr(each, "jaxpr", each)


def _remaining(every: Sequence[Any], *used: Sequence[Any]) -> list[Any]:
    return [x for x in every if not any(x in some for some in used)]


def _default(kind: str) -> Callable[[], Any]:
    """A function that returns the default dtype of a kind."""
    return lambda: _tangrad.numpy.zeros((), np.dtype(kind)).dtype


def _largest_in_windows(tangents: Any, operand: Any, select: Any, *windows: Any) -> Any:
    return _tangrad.lax.reduce_window(operand, -np.inf, _tangrad.lax.max, *windows)


def _on_device(device: Any, **options: Any) -> Any:
    """The sharding of a device; jaxlib asks for those of its own devices, too, and hands them back unread."""
    known = device in _tangrad.devices()
    return _tangrad.sharding.SingleDeviceSharding(device, **options) if known else object()


@lru_cache(0)
def _get_backend(*args: Any) -> Any:
    return importlib.import_module("jax.extend.backend").get_backend(*args)


_GENERATORS = ("threefry2x32", "rbg", "unsafe_rbg")
# What the files' common modules cannot do without, and there is no public name for.
_STAND_INS: dict[str, Callable[[], Any]] = {
    **{f"jax._src.config.{kind}_flag": lambda: Flag for kind in ("string", "int", "bool", "float", "enum")},
    # The same in releases before 0.4.26, and before 0.4.17.
    "jax._src.config.flags": lambda: importlib.import_module("absl.flags"),
    **{f"jax._src.config.DEFINE_{kind}": lambda: Flag for kind in ("string", "integer", "bool", "float", "enum")},
    "jax._src.array.ArrayImpl": lambda: _tangrad.Array,
    "jax._src.config.ExplicitX64Mode": lambda: Enum(
        "ExplicitX64Mode", {name.upper(): name for name in ("warn", "error", "allow")}, type=str
    ),
    "jax._src.config._read": lambda: lambda name: getattr(importlib.import_module("jax").config, name, None),
    "jax._src.config.bool_env": lambda: lambda name, default: default,
    "jax._src.core.subjaxprs": lambda: _programs_in,
    "jax._src.debugging.debug_callback": lambda: _tangrad.debug.callback,
    "jax._src.debugging.debug_print": lambda: _tangrad.debug.print,
    "jax._src.deprecations.is_accelerated": lambda: lambda *_: True,
    "jax._src.dispatch.runtime_tokens": lambda: SimpleNamespace(
        clear=_nothing, block_until_ready=_tangrad.effects_barrier
    ),
    # Counts of what the cache of single operations lacked: none, so that nothing is compiled anew.
    "jax._src.dispatch.xla_primitive_callable": lambda: SimpleNamespace(
        cache_clear=_nothing, cache_info=lambda: SimpleNamespace(misses=0)
    ),
    "jax._src.dtypes._intn_dtypes": lambda: [np.dtype(name) for name in ("int2", "uint2", "int4", "uint4")],
    "jax._src.dtypes.default_float_dtype": lambda: _default("f"),
    "jax._src.dtypes.default_types": lambda: {kind: _default(kind) for kind in "bifcu"},
    "jax._src.dtypes.int1": lambda: None,
    "jax._src.dtypes.is_weakly_typed": lambda: lambda x: bool(getattr(_tangrad.typeof(x), "weak_type", False)),
    "jax._src.dtypes.python_scalar_types_to_dtypes": lambda: {
        kind: np.dtype(kind) for kind in (bool, int, float, complex)
    },
    "jax._src.dtypes.uint1": lambda: None,
    # Called for a shape while a file is collected.
    "jax._src.lax.windowed_reductions._select_and_gather_add": lambda: _largest_in_windows,
    "jax._src.lax.lax.remaining": lambda: _remaining,
    # What they are before a test sets them.
    **{f"jax._src.maps.SPMD_LOWERING{kind}.value": lambda: False for kind in ("", "_MANUAL")},
    "jax._src.interpreters.mlir._platforms_with_donation": lambda: ["cpu", "cuda", "rocm", "tpu"],
    "jax._src.random.default_prng_impl": lambda: Absent("jax._src.random.default_prng_impl"),  # not the setting
    "jax._src.random.prng.KeyTy": lambda: type(_tangrad.random.key_dtype()),
    "jax._src.random.prng.PRNGKeyArray": lambda: _tangrad.Array,
    "jax._src.random.prng.prngs": lambda: {
        name: SimpleNamespace(name=name, key_shape=_tangrad.random.key_data(_tangrad.random.key(0, impl=name)).shape)
        for name in _GENERATORS
    },
    "jax._src.sharding_impls.make_single_device_sharding": lambda: _on_device,
    "jax._src.util.install_failure_signal_handler": lambda: _nothing,
    # Older files clear what it keeps.
    **{f"jax._src.{module}.get_backend": lambda: _get_backend for module in ("lib.xla_bridge", "xla_bridge")},
    "jax.experimental.jet.fact": lambda: math.factorial,
    "jax._src.xla_bridge.num_cpu_devices": lambda: Flag("", len(_tangrad.devices())),
    "jax._src.xla_bridge.using_pjrt_c_api": lambda: _no,
}


def _found(name: str) -> Any:
    """What stands for a name that the alias lacks."""
    if name in _STAND_INS:
        return _STAND_INS[name]()
    last = name.rpartition(".")[2]
    if name.startswith("jax._src.dtypes.") and hasattr(ml_dtypes, last):
        return getattr(ml_dtypes, last)
    if name.startswith(("jax._src.", "jax.interpreters.")):
        for place in _PUBLIC:
            value = getattr(importlib.import_module(place), last, None)
            if value is not None and not isinstance(value, (Absent, ModuleType)):
                return value
    return Absent(name)


class Module(AliasModule):
    """A module of the alias; what it lacks is stood in for."""

    def __getattr__(self, name: str) -> Any:
        full_name = f"{self.__name__}.{name}"
        if name.startswith("__"):
            return super().__getattr__(name)
        if full_name in _STAND_INS:
            return _found(full_name)
        if full_name.startswith(_OF_CHECKOUT):
            return importlib.import_module(full_name)
        try:
            return super().__getattr__(name)
        except (AttributeError, ImportError):
            return sys.modules.get(full_name) or _found(full_name)


class Finder:
    """The finder of the alias' modules, of those of the checkout, and of stand-ins for all others."""

    checkout: ClassVar[Path]

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of any module of jax."""
        if name.startswith(_OF_CHECKOUT):
            file = cls.checkout.joinpath(*name.split("."))
            found = [each for each in (file.with_suffix(".py"), file / "__init__.py") if each.exists()]
            if found:
                below = [str(file)] if found[0].name == "__init__.py" else None
                return importlib.util.spec_from_file_location(name, found[0], submodule_search_locations=below)
        loader: Any = cls
        return ModuleSpec(name, loader, is_package=True) if name.startswith("jax.") or name == "jax" else None

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        return Module(spec.name)

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        with suppress(IndexError):  # of a module that the alias lacks: it has no source, all its names are absent
            AliasFinder.exec_module(module)


def install(checkout: str) -> None:
    """Put the stand-ins before the alias, which is installed."""
    Finder.checkout = Path(checkout)
    finder: Any = Finder
    sys.meta_path.insert(0, finder)
