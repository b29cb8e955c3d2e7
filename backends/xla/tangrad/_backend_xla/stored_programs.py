"""Compiled programs outside the cache: their bytes, what they are for, and how they come back."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tangrad._backend_xla import jaxlib_api, jaxlib_calls, settings
from tangrad._backend_xla.calls import make_execute
from tangrad._backend_xla.compilation_cache import processor_features
from tangrad._backend_xla.executable import Program, Runner, device_for
from tangrad._backend_xla.gpus import cuda_data_folder
from tangrad.core import ClosedJaxpr, Jaxpr, ShapedArray, Var
from tangrad.core.backends import CompileOptions

if TYPE_CHECKING:
    from tangrad._backend_xla.clients import XlaDevice
    from tangrad.core import Backend

_TARGET = re.compile(r'custom_call_target="([^"]+)"')
_PYTHON = re.compile(r"xla_ffi_(partitioned_)?python_\w+|xla_python_\w+")


def store(program: Program) -> tuple[dict[str, object], bytes]:
    """What a program is for, and its bytes.

    Raises NotImplementedError for programs over several devices, those that call Python, and where XLA cannot.
    """
    runner, name = program.runner, program.runner.options.name
    (device, executable), *others = runner.executables.items()
    if others or not hasattr(device, "device_kind"):
        raise NotImplementedError(f"serialize: {name} is for several devices")
    if program.has_memories:
        raise NotImplementedError(f"serialize: {name} has arguments or results in another kind of memory")
    targets = sorted(set(_TARGET.findall(program.as_text())))
    if runner.effects or any([_PYTHON.fullmatch(target) for target in targets]):
        raise NotImplementedError(f"serialize: {name} calls Python, which its file cannot")
    if runner.from_disk:
        # Of one that was read from the cache XLA writes the wrong bytes: its functions are missing.
        with settings.enable_compilation_cache(False):
            executable, _ = runner.compile_for(device)
    try:
        data = jaxlib_api.serialize_executable(executable)
    except jaxlib_api.XlaRuntimeError as error:
        raise NotImplementedError(f"serialize: XLA cannot write {name} for {device.platform}: {error}") from error
    options = dict(runner.overrides(device.platform) or {})
    return {**_facts(device), "targets": targets, "compiler_options": options}, data


def _facts(device: XlaDevice) -> dict[str, str]:
    """What machine code depends on: it is read where all of it is the same."""
    features = processor_features() if device.platform == "cpu" else ""
    return {
        "jaxlib": jaxlib_api.VERSION,
        "platform": device.platform,
        "platform_version": device.client.platform_version,
        "device_kind": device.device_kind,
        "processor": hashlib.sha256(features.encode()).hexdigest(),
    }


def restore(
    backend: Backend,
    name: str,
    facts: Mapping[str, Any],
    data: bytes,
    in_avals: Sequence[ShapedArray],
    out_avals: tuple[ShapedArray, ...],
) -> Program:
    """A program from its bytes, for the device that it names, or the default one.

    Raises ValueError where it is for a device of another kind, or damaged.
    """
    device = facts["device"] or device_for(backend)
    for fact, here in _facts(device).items():
        there = facts.get(fact)
        if there != here:
            of = fact.replace("_", " ")
            raise ValueError(f"{name} was compiled for {of} {there!r:.120}, and this is {here!r:.120}: compile it anew")
    platform = device.platform
    targets, overrides = facts.get("targets"), facts.get("compiler_options")
    if not (isinstance(targets, list) and isinstance(overrides, dict) and all([type(name) is str for name in targets])):
        raise ValueError(f"{name} does not say what it calls and was compiled with: its description is damaged")
    options = jaxlib_api.make_compile_options(
        [[device.raw]],
        len(in_avals),
        len(out_avals),
        overrides=overrides or None,
        cuda_data_folder=cuda_data_folder() if platform == "cuda" else None,
    )
    jaxlib_calls.make_callable(targets, platform)
    try:
        executable = jaxlib_api.deserialize_executable(device.client, data, [device.raw], options)
    except jaxlib_api.XlaRuntimeError as error:
        raise ValueError(f"XLA does not read {name}: {error}") from error
    of_its_own = CompileOptions(name, device=facts["device"])
    return RestoredProgram(backend, of_its_own, device, executable, in_avals, out_avals)


class RestoredProgram(Program):
    """A program of which there is no jaxpr: it runs on the device that it was loaded for."""

    __slots__ = ()

    def __init__(
        self,
        backend: Any,
        options: CompileOptions,
        device: XlaDevice,
        executable: object,
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
    ) -> None:
        inputs, outputs = [tuple(map(Var, avals)) for avals in (in_avals, out_avals)]
        of_its_type = ClosedJaxpr(Jaxpr((), inputs, outputs, ()), ())
        runner = self.runner = Runner(backend, of_its_type, options)
        runner.forget_program()
        runner.executables[device] = executable
        self._waiting = None
        self.in_avals, self.out_avals = runner.in_avals, runner.out_avals
        placement = device.uncommitted if options.device is None else device.committed
        self._places = (placement,) * len(in_avals), runner.load(placement)[2]
        self.execute = make_execute(runner, backend.device_count() > 1)
