"""Targets: compiled handlers by name and platform."""

from __future__ import annotations

import ctypes
import difflib
import importlib.util
import itertools
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tangrad.core import api_boundary
from tangrad.errors import BackendError

# The name that the interface gives to capsules of handlers.
_CAPSULE = b"xla._CUSTOM_CALL_TARGET"
# The stages of a handler's life: when a program is made, before it runs, when it runs.
STAGES = ("instantiate", "prepare", "initialize", "execute")
_PLATFORMS = {"cpu": "cpu", "host": "cpu", "cuda": "cuda", "gpu": "cuda", "rocm": "rocm", "tpu": "tpu"}

_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_api.PyCapsule_GetName.restype = ctypes.c_char_p
_api.PyCapsule_GetName.argtypes = [ctypes.py_object]
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_FunctionPointer: Any = ctypes.CFUNCTYPE(None).__base__  # the class of all function pointers of ctypes
_CapsuleType = type(_api.PyCapsule_New(1, _CAPSULE, None))


@dataclass(frozen=True)
class Target:
    """A registered handler.

    Attributes:
        name: by which programs call it.
        platform: "cpu", "cuda", ...
        capsules: a capsule for each stage that it has; a single function is the stage "execute".
        api_version: of the interface: 1, the typed one, or 0, that of old custom calls.
        traits: bits that say more about it.
    """

    name: str
    platform: str
    capsules: Mapping[str, object]
    api_version: int
    traits: int = 0
    addresses: Mapping[str, int] = field(default_factory=dict)


class _TypeInfo(ctypes.Structure):
    """XLA_FFI_TypeInfo."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("extensions", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ]


_targets: dict[tuple[str, str], Target] = {}
# The types of handlers' states: (platform, name) -> capsules; and how a state is freed, by the address of its type.
_types: dict[tuple[str, str], Mapping[str, object]] = {}
deleters: dict[int, Any] = {}
_type_numbers = itertools.count(2**40)  # far from those that XLA gives
_lock = threading.Lock()


@api_boundary
def pycapsule(funcptr: object) -> object:
    """A compiled function as a capsule, which `register_ffi_target` takes.

    Args:
        funcptr: a function of a library that ctypes has loaded, or any function pointer of ctypes.

    Raises:
        TypeError: for anything else.

    >>> import ctypes, tangrad
    >>> library = ctypes.CDLL(None)
    >>> type(tangrad.ffi.pycapsule(library.abs)).__name__
    'PyCapsule'
    """
    if not isinstance(funcptr, (_FunctionPointer, ctypes.c_void_p)):
        raise TypeError(
            f"pycapsule expects a function of a library that ctypes has loaded, got {funcptr!r} of type "
            f"{type(funcptr).__name__}"
        )
    return _api.PyCapsule_New(ctypes.cast(funcptr, ctypes.c_void_p).value, _CAPSULE, None)


@api_boundary
def register_ffi_target(name: str, fn: object, platform: str = "cpu", api_version: int = 1, traits: int = 0) -> None:
    """Give a compiled handler the name by which `ffi_call` calls it.

    A handler of version 1 is what the macro XLA_FFI_DEFINE_HANDLER_SYMBOL of `xla/ffi/api/ffi.h` defines (see
    `include_dir`). On the platform "cpu" XLA calls it, and the NumPy backend through ctypes.

    Args:
        name: of the target.
        fn: a capsule (`pycapsule`), a function pointer of ctypes, or a dictionary of these by stage: "instantiate",
            "prepare", "initialize", "execute".
        platform: "cpu", "cuda".
        api_version: of the interface: 1, or 0 for old custom calls, which XLA alone can call.
        traits: bits of XLA_FFI_Handler_Traits; 1: the handler may be recorded in a command buffer.

    Raises:
        TypeError: for what is no compiled function.
        ValueError: for an unknown platform, stage or version, and where another function has the name already.

    >>> import ctypes, tangrad
    >>> handler = ctypes.CDLL(None).abs  # a library's handler stands here
    >>> tangrad.ffi.register_ffi_target("documented", handler)
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"register_ffi_target: the name of a target is a text that is not empty, got {name!r}")
    if not isinstance(platform, str) or platform.lower() not in _PLATFORMS:
        raise ValueError(
            f"register_ffi_target: target {name!r} is for the platform {platform!r}; known are 'cpu', 'cuda', 'rocm' "
            "and 'tpu'"
        )
    if api_version not in (0, 1):
        raise ValueError(f"register_ffi_target: api_version is 1, or 0 for old custom calls, got {api_version!r}")
    stages = dict(fn) if isinstance(fn, Mapping) else {"execute": fn}
    unknown = [stage for stage in stages if stage not in STAGES]
    if unknown or "execute" not in stages:
        raise ValueError(
            f"register_ffi_target: the stages of target {name!r} are {list(stages)}; known are {list(STAGES)}, and "
            "'execute' must be there"
        )
    capsules = {stage: _capsule(name, stage, function) for stage, function in stages.items()}
    addresses = {stage: _address(one) for stage, one in capsules.items()}
    target = Target(name, _PLATFORMS[platform.lower()], capsules, api_version, int(traits), addresses)
    with _lock:
        earlier = _targets.setdefault((target.platform, name), target)
    if earlier is not target and (dict(earlier.addresses), earlier.api_version) != (addresses, api_version):
        raise ValueError(
            f"register_ffi_target: another function is registered as {name!r} for {target.platform} already; programs "
            "may hold it, so it stays: choose another name"
        )


def _capsule(name: str, stage: str, function: object) -> object:
    if isinstance(function, _CapsuleType):
        return function
    if isinstance(function, _FunctionPointer):
        return pycapsule(function)
    raise TypeError(
        f"register_ffi_target: stage {stage!r} of target {name!r} must be a capsule (tangrad.ffi.pycapsule) or a "
        f"function of a library that ctypes has loaded, got {function!r} of type {type(function).__name__}"
    )


@api_boundary
def register_ffi_type(name: str, type_registration: Mapping[str, object], platform: str = "cpu") -> None:
    """Register the type of the state that a handler keeps from its stage "instantiate" on.

    Args:
        name: of the type.
        type_registration: a dictionary of capsules: "type_id" points to the XLA_FFI_TypeId of the type, "type_info" to
            its XLA_FFI_TypeInfo, by which a state is freed when its program is.
        platform: "cpu", "cuda".

    Raises:
        TypeError: for what is no dictionary of these capsules.
        ValueError: for an unknown platform, and where another type has the name already.

    >>> import ctypes, tangrad
    >>> number = ctypes.c_int64()  # the XLA_FFI_TypeId of a C++ class stands here
    >>> type_id = tangrad.ffi.pycapsule(ctypes.c_void_p(ctypes.addressof(number)))
    >>> tangrad.ffi.register_ffi_type("documented_state", {"type_id": type_id})
    """
    capsules = dict(type_registration) if isinstance(type_registration, Mapping) else {}
    if "type_id" not in capsules or not all([isinstance(one, _CapsuleType) for one in capsules.values()]):
        raise TypeError(
            f"register_ffi_type: the registration of {name!r} must be a dictionary of the capsules 'type_id' and "
            f"'type_info', got {type_registration!r}"
        )
    if not isinstance(platform, str) or platform.lower() not in _PLATFORMS:
        raise ValueError(f"register_ffi_type: type {name!r} is for the unknown platform {platform!r}")
    addresses = {key: _address(one) for key, one in capsules.items()}
    with _lock:
        earlier = _types.setdefault((_PLATFORMS[platform.lower()], name), capsules)
        if {key: _address(one) for key, one in earlier.items()} != addresses:
            raise ValueError(f"register_ffi_type: another type is registered as {name!r} already: choose another name")
        if "type_info" in addresses:
            info = _TypeInfo.from_address(addresses["type_info"])
            if info.deleter:
                deleters[addresses["type_id"]] = info.deleter


def types(platform: str) -> dict[str, Mapping[str, object]]:
    """The registered types of a platform, by name."""
    with _lock:
        return {name: capsules for (at, name), capsules in _types.items() if at == platform}


def number_types() -> None:
    """Give the registered types of the host numbers, which handlers look at; those that XLA gave stay."""
    for capsules in types("cpu").values():
        number = ctypes.c_int64.from_address(_address(capsules["type_id"]))
        if number.value == 0:
            number.value = next(_type_numbers)


def _address(capsule: object) -> int:
    return int(_api.PyCapsule_GetPointer(capsule, _api.PyCapsule_GetName(capsule)))


def find(name: str, platform: str) -> Target | None:
    """The target of a name on a platform, if it has been registered."""
    return _targets.get((platform, name))


def missing(name: str, platform: str) -> str:
    """The text of the error that there is no such target: what there is instead."""
    elsewhere = sorted([at for at, other in _targets if other == name])
    names = [other for at, other in _targets if at == platform]
    text = f"no foreign function is registered as {name!r} for the platform {platform!r}"
    if elsewhere:
        return f"{text}, only for {', '.join(elsewhere)}"
    close = difflib.get_close_matches(name, names, 1)
    if close:
        return f"{text}; did you mean {close[0]!r}?"
    return f"{text}; register it first: tangrad.ffi.register_ffi_target({name!r}, handler, platform={platform!r})"


@api_boundary
def include_dir() -> str:
    """The folder of the header files that handlers are compiled with, `xla/ffi/api/ffi.h` among them.

    They come with jaxlib, and are needed where a handler is compiled only.

    Raises:
        BackendError: where jaxlib is not installed.

    >>> import importlib.util, tangrad
    >>> here = importlib.util.find_spec("jaxlib") is not None
    >>> tangrad.ffi.include_dir().endswith("include") if here else True
    True
    """
    found = importlib.util.find_spec("jaxlib")
    for folder in (found.submodule_search_locations or []) if found is not None else []:
        headers = Path(folder) / "include"
        if headers.is_dir():
            return str(headers)
    raise BackendError(
        "the header files of foreign functions come with jaxlib, which is not installed: pip install 'tangrad[xla]'"
    )
