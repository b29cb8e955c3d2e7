"""What both libraries have under one name: functions, methods of classes, and methods of the objects that they return."""

import importlib
import inspect
import types
from collections.abc import Iterator
from typing import Any

from .calls import refused, signature_of

# Below `jax` and below `tangrad`.
MODULES = (
    "",
    "ad_checkpoint",
    "custom_batching",
    "custom_derivatives",
    "debug",
    "distributed",
    "dlpack",
    "dtypes",
    "errors",
    "export",
    "ffi",
    "flatten_util",
    "image",
    "lax",
    "lax.linalg",
    "monitoring",
    "nn",
    "nn.initializers",
    "numpy",
    "numpy.fft",
    "numpy.linalg",
    "ops",
    "profiler",
    "random",
    "scipy",
    "scipy.cluster",
    "scipy.cluster.vq",
    "scipy.fft",
    "scipy.integrate",
    "scipy.interpolate",
    "scipy.linalg",
    "scipy.ndimage",
    "scipy.optimize",
    "scipy.signal",
    "scipy.sparse.linalg",
    "scipy.spatial.transform",
    "scipy.special",
    "scipy.stats",
    "sharding",
    "stages",
    "tree",
    "tree_util",
    "typing",
)
# What arrays, and what users ask of classes, without writing its name.
SPECIAL = ("__call__", "__dlpack__", "__dlpack_device__", "__array__", "__array_namespace__", "__format__", "__round__")


def differences(theirs: Any, ours: Any) -> set[str]:
    """All that differs, as "name(argument)", over the modules and objects of `theirs`, jax, and `ours`."""
    found: set[str] = set()
    for module in MODULES:
        found.update(of_module(f"{theirs.__name__}.{module}".rstrip("."), f"{ours.__name__}.{module}".rstrip("."), module))
    for name, (one, other) in objects(theirs, ours).items():
        found.update(of_members(name, one, other))
    return found


def of_module(their_name: str, our_name: str, name: str) -> Iterator[str]:
    """The differences of the names that two modules share, those of modules below them where they are objects."""
    theirs, ours = importlib.import_module(their_name), importlib.import_module(our_name)
    for item in sorted(dir(theirs)):
        value = getattr(theirs, item) if not item.startswith("_") else None
        if value is None or not hasattr(ours, item):
            continue
        full = f"{name}.{item}".lstrip(".")
        if isinstance(value, types.ModuleType):
            if name == "scipy.stats":  # a distribution
                yield from of_module(f"{their_name}.{item}", f"{our_name}.{item}", full)
        elif callable(value):
            yield from of_call(full, value, getattr(ours, item))
            if inspect.isclass(value) and not issubclass(value, BaseException):
                yield from of_members(full, value, getattr(ours, item))


def of_members(name: str, theirs: Any, ours: Any) -> Iterator[str]:
    """The differences of the public methods of two classes or objects; members that are not there at all, too."""
    for item in sorted(dir(theirs)):
        if item.startswith("_") and item not in SPECIAL:
            continue
        full = f"{name}.{item}"
        try:
            value = getattr(theirs, item)
        except Exception:  # a property that says that there is no such thing
            continue
        if not hasattr(ours, item):
            if not item.startswith("_") or callable(value):
                yield full
        elif callable(value) and not inspect.isclass(value):
            yield from of_call(full, value, getattr(ours, item))


def of_call(name: str, theirs: Any, ours: Any) -> Iterator[str]:
    """The differences of two functions, classes or objects that are called."""
    if not callable(ours):
        yield f"{name}()"
        return
    one, other = signature_of(theirs), signature_of(ours)
    if one is None:
        return
    if other is None:
        yield f"{name}()"
        return
    for difference in refused(one, other):
        yield f"{name}({difference})"


def objects(theirs: Any, ours: Any) -> dict[str, tuple[Any, Any]]:
    """What users hold and no module names: an array, a tracer, a jitted function, the stages of its compilation."""

    def made(library: Any) -> dict[str, Any]:
        numpy = importlib.import_module(f"{library.__name__}.numpy")
        tracers: list[Any] = []

        def function(x: Any) -> Any:
            tracers.append(x)
            return x + 1

        array = numpy.arange(3.0)
        jitted = library.jit(function)
        traced = jitted.trace(array)
        lowered = traced.lower()
        return {
            "Array": array,
            "Tracer": tracers[0],
            "jit(f)": jitted,
            "jit(f).trace(x)": traced,
            "jit(f).lower(x)": lowered,
            "jit(f).lower(x).compile()": lowered.compile(),
            "Array.at[index]": array.at[0],
            "config": library.config,
        }

    one, other = made(theirs), made(ours)
    return {name: (one[name], other[name]) for name in one}
