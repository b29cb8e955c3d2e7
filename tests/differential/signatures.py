"""What both libraries have under one name: functions, methods of classes, methods of the objects that they return."""

import enum
import functools
import importlib
import inspect
import math
import types
from collections.abc import Callable, Iterator
from inspect import Parameter
from typing import Any

import numpy

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
SPECIAL = ("__call__", "__dlpack__", "__dlpack_device__", "__array__", "__array_namespace__")
# Classes whose objects users are handed, and do not make.
HANDED_OUT = (
    "Device",
    "export.Exported",
    "stages.Compiled",
    "stages.Lowered",
    "stages.Traced",
    "stages.ArgInfo",
    "numpy.ufunc",
)
# Classes of which `objects` has one, whose methods are looked at: those of the class are made in another way.
BY_OBJECT = (
    "profiler.ProfileOptions",
    "Device",
    "NamedSharding",
    "numpy.ufunc",
    "scipy.stats.gaussian_kde",
    "sharding.Mesh",
)
BUILT_IN = (object, int, str, tuple, BaseException, enum.Enum)


def differences(theirs: Any, ours: Any) -> set[str]:
    """All that differs, as "name(argument)", over the modules and objects of `theirs`, jax, and `ours`."""
    found: set[str] = set()
    seen: dict[Any, str] = {}
    for module in MODULES:
        one, other = [f"{library.__name__}.{module}".rstrip(".") for library in (theirs, ours)]
        found.update(of_module(one, other, module, seen))
    for name, (one, other) in objects(theirs, ours).items():
        found.update(of_members(name, one, other, theirs.numpy.arange(3.0)))
    # Settings are compared by tests/unit/test_jax_settings.py; which there are hangs on what of JAX was imported.
    return {name for name in found if not name.startswith("config.jax_")}


def of_module(their_name: str, our_name: str, name: str, seen: dict[Any, str]) -> Iterator[str]:
    """The differences of the names that two modules share, those of modules below them where they are objects.

    `seen`: classes, and the first name of each, under which alone their methods are looked at.
    """
    theirs, ours = importlib.import_module(their_name), importlib.import_module(our_name)
    for item in sorted(dir(theirs)):
        value = getattr(theirs, item) if not item.startswith("_") else None
        if value is None or not hasattr(ours, item):
            continue
        full = f"{name}.{item}".lstrip(".")
        if isinstance(value, types.ModuleType):
            if name == "scipy.stats":  # a distribution
                yield from of_module(f"{their_name}.{item}", f"{our_name}.{item}", full, seen)
        elif callable(value) and type(value).__module__ not in ("typing", "types"):
            if inspect.isclass(value) and issubclass(value, BaseException):
                continue
            if full not in HANDED_OUT:
                yield from of_call(full, value, getattr(ours, item))
            if inspect.isclass(value) and seen.setdefault(value, full) == full and full not in BY_OBJECT:
                yield from of_members(full, value, getattr(ours, item))


def of_members(name: str, theirs: Any, ours: Any, methods: Any = None) -> Iterator[str]:
    """The differences of the public methods of two classes or objects; members that are not there at all, too.

    `methods`: an object whose methods have the signature of those that hand on whatever they are given.
    """
    built_in = {
        item for kind in BUILT_IN if isinstance(theirs, type) and issubclass(theirs, kind) for item in dir(kind)
    }
    for item in sorted(set(dir(theirs)) - (built_in - {"__call__"})):
        if item.startswith("_") and item not in SPECIAL:
            continue
        full = f"{name}.{item}"
        try:
            value = getattr(theirs, item)
        except Exception:  # a property that says that there is no such thing
            continue
        if isinstance(theirs, type) and not (callable(value) or isinstance(value, property)):
            continue  # what objects have is looked at where there is one
        if not hasattr(ours, item):
            if not item.startswith("_") or callable(value):
                yield full
        elif callable(value) and not inspect.isclass(value):
            if is_generic(value) and item in dir(methods):
                value = getattr(methods, item)
            yield from of_call(full, *[of_instance(*pair) for pair in ((theirs, value), (ours, getattr(ours, item)))])


def of_call(name: str, theirs: Any, ours: Any) -> Iterator[str]:
    """The differences of two functions, classes or objects that are called."""
    if not callable(ours):
        yield f"{name}()"
        return
    one, other = signature_of(theirs), signature_of(ours)
    if isinstance(getattr(theirs, "nin", None), int):  # a ufunc: its own signature says any number of arguments
        one = inspect.Signature([Parameter(f"x{number}", Parameter.POSITIONAL_ONLY) for number in range(theirs.nin)])
    if one is None:
        return
    if other is None:
        yield f"{name}()"
        return
    for difference in refused(one, other):
        yield f"{name}({difference})"


def of_instance(owner: Any, member: Any) -> Any:
    """A method as its objects have it: without the first argument of the function that is in the class."""
    if not isinstance(owner, type) or not isinstance(member, types.FunctionType):
        return member
    static = [vars(kind)[member.__name__] for kind in owner.__mro__ if member.__name__ in vars(kind)][:1]
    return member if static and isinstance(static[0], staticmethod) else functools.partial(member, None)


def is_generic(function: Any) -> bool:
    """Whether it takes anything, as functions do that hand on their arguments."""
    found = signature_of(function)
    kinds = {item.kind for item in found.parameters.values()} if found is not None else set()
    return kinds == {Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD}


def objects(theirs: Any, ours: Any) -> dict[str, tuple[Any, Any]]:
    """What users hold and no module names: an array, a tracer, a jitted function, the stages of its compilation."""

    def made(library: Any) -> dict[str, Any]:
        numpy = importlib.import_module(f"{library.__name__}.numpy")
        tracers: list[Any] = []

        def function(x: Any) -> Any:
            tracers.append(x)
            return x + 1

        array, mesh = numpy.arange(3.0), library.make_mesh((1,), ("x",))
        jitted = library.jit(function)
        traced = jitted.trace(array)
        lowered = traced.lower()
        return {
            "array": array,
            "tracer": tracers[0],
            "jit(f)": jitted,
            "jit(f).trace(x)": traced,
            "jit(f).lower(x)": lowered,
            "jit(f).lower(x).compile()": lowered.compile(),
            "array.at[index]": array.at[0],
            "device": library.devices()[0],
            "numpy.add": numpy.add,
            "profiler.ProfileOptions()": importlib.import_module(f"{library.__name__}.profiler").ProfileOptions(),
            "NamedSharding(mesh, spec)": library.NamedSharding(mesh, library.P("x")),
            "mesh": mesh,
            "config": library.config,
            "numpy.finfo()": numpy.finfo("float32"),
            "numpy.iinfo()": numpy.iinfo("int32"),
            "scipy.stats.gaussian_kde()": importlib.import_module(f"{library.__name__}.scipy.stats").gaussian_kde(
                array
            ),
        }

    one, other = made(theirs), made(ours)
    return {name: (one[name], other[name]) for name in one}


# --- Two signatures held against each other: what a caller of the one cannot write for the other ---


POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """The signature, None where Python knows none (functions in C)."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def refused(theirs: inspect.Signature, ours: inspect.Signature) -> Iterator[str]:
    """What calls of `theirs` say that `ours` does not understand, argument by argument.

    "x": no such keyword; "x by position": its place is another one's, or no one's; "x=": another default; "x missing":
    it may be left out there, and not here; "*args", "**kwargs": there may be any more. Keyword-only arguments whose
    names begin with an underscore are private.
    """
    own = list(ours.parameters.values())
    places = iter([item for item in own if item.kind in POSITIONAL])
    kinds = {item.kind for item in own}
    for name, wanted in theirs.parameters.items():
        if wanted.kind is Parameter.VAR_POSITIONAL:
            yield from [f"*{name}"] if wanted.kind not in kinds else []
        elif wanted.kind is Parameter.VAR_KEYWORD:
            yield from [f"**{name}"] if wanted.kind not in kinds else []
        elif not (name.startswith("_") and wanted.kind is Parameter.KEYWORD_ONLY):
            place = next(places, None) if wanted.kind in POSITIONAL else None
            yield from _refused_argument(wanted, place, ours.parameters.get(name), kinds)
    taken = {item.name for item in theirs.parameters.values()}
    for item in [item for item in own if item.kind is Parameter.KEYWORD_ONLY] + list(places):
        if item.default is Parameter.empty and item.name not in taken:
            yield f"{item.name} missing"


def _refused_argument(
    wanted: Parameter, place: Parameter | None, named: Parameter | None, kinds: set[Any]
) -> Iterator[str]:
    """The same for one argument; `place`: what is at its position here, `named`: what has its name."""
    by_name = named is not None and named.kind in NAMED
    if wanted.kind in NAMED and not by_name and Parameter.VAR_KEYWORD not in kinds:
        yield wanted.name
    elif wanted.kind in POSITIONAL and place is None:
        yield from [f"{wanted.name} by position"] if Parameter.VAR_POSITIONAL not in kinds else []
    elif wanted.kind is Parameter.POSITIONAL_OR_KEYWORD and place is not None and place.name != wanted.name:
        yield f"{wanted.name} by position"
    found = named if named is not None and named.kind in (*POSITIONAL, *NAMED) else place
    if found is not None and wanted.default is not Parameter.empty:
        if found.default is Parameter.empty:
            yield f"{wanted.name} missing"
        elif not same_default(wanted.default, found.default):
            yield f"{wanted.name}="


def same_default(theirs: Any, ours: Any) -> bool:
    """Whether leaving the argument out means the same, as far as the two values show.

    A marker that stands for "nothing was said" shows nothing, so it is equal to all.
    """
    if is_marker(theirs) or is_marker(ours):
        return True
    if isinstance(theirs, enum.Enum) and isinstance(ours, enum.Enum):
        return theirs.name == ours.name
    if isinstance(theirs, float) and isinstance(ours, float) and math.isnan(theirs):
        return math.isnan(ours)
    if type(theirs) is type(ours) and not callable(theirs):
        return repr(theirs) == repr(ours)
    if is_number(theirs) and is_number(ours):
        return bool(theirs == ours)
    if (one := as_dtype(theirs)) is not None and (other := as_dtype(ours)) is not None:
        return one == other
    if callable(theirs) and callable(ours):
        return name_of(theirs) == name_of(ours)
    return False


def is_marker(value: Any) -> bool:
    """Whether it is one of the objects that only say that an argument was left out."""
    words = ("unspecified", "notspecified", "deprecated", "sentinel", "notgiven", "unset", "nodefault", "novalue")
    kind = type(value).__name__.lower().replace("_", "")
    return type(value) is object or kind.startswith(words)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex, numpy.number)) and not isinstance(value, bool)


def as_dtype(value: Any) -> numpy.dtype | None:
    """The dtype that a default names: by a type, an object or a string."""
    if value is None:
        return None
    try:
        return numpy.dtype(getattr(value, "dtype", value))
    except TypeError:
        return None


def name_of(value: Any) -> str:
    return str(getattr(value, "__name__", type(value).__name__))
