"""The options of `jit`: their types, what is refused, and which donated arguments a program takes over."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from tangrad._jit.call import Call, Options, Traced, value_behind
from tangrad._jit.layout import shardings_of_arguments
from tangrad._jit.settings import compile_effort as effort_setting
from tangrad._jit.settings import compile_regions as regions_setting
from tangrad.core import Sharding, composition, dce_jaxpr, dtypes, thread
from tangrad.core.backends import program_shardings
from tangrad.core.programs import usable_donations
from tangrad.core.settings import Setting
from tangrad.errors import MissingDistributionError

if TYPE_CHECKING:
    from tangrad._jit.call import Execute
    from tangrad.core import Backend, Device, ShapedArray
    from tangrad.core.programs import LoweredProgram
    from tangrad.typing import PyTree, Value


class JitOptions(TypedDict, total=False):
    static_argnums: int | Sequence[int] | None
    static_argnames: str | Sequence[str] | None
    donate_argnums: int | Sequence[int] | None
    donate_argnames: str | Sequence[str] | None
    keep_unused: bool
    device: Device | None
    backend: str | None
    inline: bool
    in_shardings: object
    out_shardings: object
    abstracted_axes: object
    compiler_options: Mapping[str, object] | None
    compile_regions: str | bool | None
    compile_effort: Literal["full", "fast"] | None


def check_function(fun: Any) -> None:
    if isinstance(fun, staticmethod):
        raise TypeError(
            "jit cannot take a staticmethod object; jit the function inside and make that static: staticmethod(jit(f))"
        )
    if not callable(fun):
        raise TypeError(f"jit expects a function, got {fun!r} of type {type(fun).__name__}")
    if inspect.isgeneratorfunction(fun):
        raise TypeError(
            f"jit cannot compile the generator function {fun.__name__!r}: return an array, or a tuple, in place of "
            f"yielding"
        )


def check_disjoint(
    static: tuple[tuple[int, ...], tuple[str, ...]], donated: tuple[tuple[int, ...], tuple[str, ...]]
) -> None:
    """Raise ValueError for arguments, by their positions and by their names, that are both."""
    both = set(static[0]) & set(donated[0]) or set(static[1]) & set(donated[1])
    if both:
        raise ValueError(f"arguments cannot be static and donated at once: {sorted(both)}")


def sorted_options(given: object, what: str) -> tuple[tuple[str, bool | int], ...]:
    """Options for the compiler as a part of a key: pairs, sorted by name; () for None.

    Raises TypeError, naming `what`, for what is no mapping from names to numbers, booleans and strings. Which names
    there are knows the backend.
    """
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise TypeError(f"{what} must be a dictionary, got {given!r} of type {type(given).__name__}")
    for name, value in given.items():
        if not isinstance(name, str):
            raise TypeError(f"{what}: names are strings, got {name!r} of type {type(name).__name__}")
        if not isinstance(value, (bool, int, float, str)):
            raise TypeError(
                f"{what}: the value of {name!r} must be a boolean, a number or a string, got {value!r} of type "
                f"{type(value).__name__}"
            )
    return tuple(sorted(given.items()))


def options_for(platforms: Sequence[str], options: Options, backend: Backend, name: str) -> Options:
    """The options of `jit` with the platform that a program is to be lowered for."""
    names = ["cuda" if platform == "gpu" else platform for platform in platforms]
    if names == [backend.platform]:
        return options
    if not names or isinstance(platforms, str) or not {*names} <= {"cpu", "cuda", "rocm", "tpu"}:
        raise ValueError(f"lower: lowering_platforms must consist of cpu, cuda, rocm or tpu, got {platforms!r}")
    if len(names) > 1 or backend.name == "numpy":
        raise NotImplementedError(
            f"lower: lowering_platforms={platforms!r}, but {name!r} runs on {backend.platform!r}; programs for several "
            f"platforms, and on NumPy, are written by tangrad.export.export(f, platforms=...)"
        )
    return options._replace(platform=names[0])


def check_can_be_compiled(options: Options, name: str, backend: Backend) -> None:
    """Raise RuntimeError for a program for another platform."""
    if options.platform is not None:
        raise RuntimeError(
            f"{name} was lowered for {options.platform!r}, and devices are of {backend.platform!r}: lower it without "
            f"lowering_platforms"
        )


def check_assignment(
    name: str, given: tuple[Device, ...], lowered: LoweredProgram, call: Call, backend: Backend
) -> None:
    """Raise RuntimeError or ValueError unless these are the devices that a program was lowered for, in any order."""
    arguments = [value_behind(leaf) for leaf in call.leaves]
    committed = [array.sharding for array in arguments if getattr(array, "committed", False)]
    stated = [*lowered.options.shardings, *program_shardings(lowered.closed), *committed]
    place = thread.default_device
    if stated or (isinstance(place, Sharding) and lowered.options.device is None):
        devices = tuple((stated or [place])[0].device_order)
    else:
        devices = (lowered.options.device or place or backend.devices()[0],)
    if len(given) != len(devices):
        raise RuntimeError(
            f"Length of device_assignment: {name} was lowered for {len(devices)} devices, and compile was given "
            f"{len(given)}"
        )
    if set(given) != set(devices):
        raise ValueError(
            f"compile: device_assignment is {list(given)}, and {name} was lowered for {list(devices)}: lower it for "
            f"arguments with shardings over those, or within tangrad.set_mesh(mesh) of them"
        )


def check_device(device: Device, name: str, traced: Traced) -> None:
    """Raise ValueError where shardings within a program are of other devices than the one that `jit` was given."""
    for sharding in program_shardings(traced.jaxpr):
        if sharding.device_set != {device}:
            raise ValueError(
                f"Received incompatible devices for jitted computation {name}: jit was given a device or a backend, "
                f"that is {device!r}, and within the function a value is sharded by {sharding}; leave the device out"
            )


def shardings_of_leaves(options: Options, call: Call, name: str) -> list[Sharding | None]:
    """The sharding of each leaf: as the function states it, else that of the array at hand, or None."""
    return [
        getattr(value_behind(leaf), "user_sharding", None) if sharding is None else sharding
        for leaf, sharding in zip(call.leaves, shardings_of_arguments(options, call, name), strict=True)
    ]


ON_ONE_DEVICE = "sharding.SingleDeviceSharding"


def on_one_device(device: object) -> Sharding:
    """The sharding of what is on one device. Raises MissingDistributionError where there are no shardings."""
    plugin = composition().find("tangrad.api", ON_ONE_DEVICE)
    if plugin is None:
        raise MissingDistributionError(f"tangrad.{ON_ONE_DEVICE}", "tangrad-sharding")
    found: Sharding = plugin.load()(device)
    return found


def for_compiler(
    compiler_options: object, compile_regions: object, compile_effort: object
) -> tuple[tuple[tuple[str, Any], ...], Any, Any]:
    """What `jit` was given for compiling, as a part of a key. Raises TypeError or ValueError for what is no option."""
    return (
        sorted_options(compiler_options, "jit: compiler_options"),
        _setting_or_none(regions_setting, compile_regions),
        _setting_or_none(effort_setting, compile_effort),
    )


def _setting_or_none(setting: Setting, value: object) -> bool | str | None:
    """An argument of `jit` that goes before a setting of its name: one of its values, or None: that of the setting.

    Raises TypeError or ValueError, naming both the argument and what the setting takes.
    """
    try:
        return None if value is None else setting.check(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"jit: {setting.name}: {error}, got {value!r}") from None


def refuse_within(options: Options, name: str) -> None:
    """Raise ValueError for a function with compiler options that is called while another is traced."""
    if options.compiler_options:
        raise ValueError(
            f"jitted function {name!r} has compiler_options, which are those of a whole program, and it is called "
            f"while another function is traced or transformed: give them to the outermost jit"
        )


def refuse_tracing(name: str) -> None:
    """Raise RuntimeError: by the setting `no_tracing` nothing may be traced."""
    raise RuntimeError(f"jitted function {name!r} would be traced for this call, and the setting no_tracing is on")


# --- Donated arguments: which a program takes over, and which it cannot ---

_USER = 6  # frames up to who called the jitted function


def taken_over(call: Call, traced: Traced, keep_unused: bool) -> tuple[bool, ...]:
    """For each leaf of the arguments, whether the program overwrites it.

    Warns of donated ones that it uses, and whose buffer no result can take over: none has their size. Those that it
    does not use are not handed on to it.
    """
    given = (*[False] * len(traced.outer), *call.donated())
    if not any(given):
        return call.donated()
    jaxpr, used = dce_jaxpr(traced.jaxpr.jaxpr, [True] * len(traced.jaxpr.out_avals), instantiate=keep_unused)
    donated = list(compress(given, used))
    places = [position - len(traced.outer) for position in compress(range(len(given)), used)]
    usable = dict(zip(places, usable_donations(jaxpr, donated), strict=True))
    useless = [place for place, give in zip(places, donated, strict=True) if give and not usable[place]]
    if useless:
        _warn_of(call, useless)
    return tuple([usable.get(place, False) for place in range(len(call.leaves))])


def _warn_of(call: Call, useless: Sequence[int]) -> None:
    which = ", ".join([f"{call.path(place)}: {_long_name(call.leaves[place].aval)}" for place in useless])
    text = f"Some donated buffers were not usable, since no result has their size: {which}"
    warnings.warn(text, UserWarning, stacklevel=_USER)


def _long_name(aval: ShapedArray) -> str:
    return f"{dtypes.dtype_name(aval.dtype)}[{','.join(map(str, aval.shape))}]"


def check_not_shared(path: Callable[[int], str], donated: Sequence[bool], arrays: Sequence[Value], name: str) -> None:
    """Raise ValueError if the buffer of an argument that is overwritten is that of another argument too.

    `path`: what the argument at a position is called.
    """
    if not any(donated):
        return
    first = {id(array): position for position, array in reversed(list(enumerate(arrays)))}
    for position, array in enumerate(arrays):
        other = first[id(array)]
        if other != position and (donated[position] or donated[other]):
            given = position if donated[position] else other
            raise ValueError(
                f"{name}: argument {path(given)} is donated, and its array is both {path(other)} and "
                f"{path(position)}: what is overwritten as one cannot be read as the other; pass a copy"
            )


def refusing_shared(execute: Execute, call: Call, donated: Sequence[bool], name: str) -> Execute:
    """A program that first looks whether arguments that it overwrites stand there once; itself, where it need not."""
    if len(donated) < 2:
        return execute

    def run(arrays: Sequence[Value]) -> Sequence[PyTree]:
        check_not_shared(call.path, donated, arrays, name)
        return execute(arrays)

    return run
