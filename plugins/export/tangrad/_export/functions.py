"""`export`: from jitted functions to StableHLO."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tangrad import default_backend, tree
from tangrad._export.exported import (
    NUMPY,
    DisabledSafetyCheck,
    Exported,
    argument_label,
    argument_labels,
    check_contents,
)
from tangrad._export.writing import devices_of, saved, written_program
from tangrad.autodiff import tangent_aval, vjp
from tangrad.core import Backend, ClosedJaxpr, api_boundary, backend_names, eval_jaxpr, get_backend
from tangrad.core.arguments import first_symbolic, is_symbolic
from tangrad.core.backends import program_shardings
from tangrad.core.programs import lower_program
from tangrad.extend.jit import TracedParts, jit, parts_of_traced, stated
from tangrad.extend.runtime import portable_program
from tangrad.extend.symbolic import Plan, plan
from tangrad.stages import Wrapped

if TYPE_CHECKING:
    from tangrad.tree_util import PyTreeDef
    from tangrad.typing import Value, Values

PLATFORMS = ("cpu", "cuda", "rocm", "tpu", NUMPY)


def default_export_platform() -> str:
    """The platform that programs are exported for where none is named: that of XLA's default device where XLA is the
    backend in use, else "numpy".

    >>> from tangrad.export import default_export_platform
    >>> default_export_platform() in ("cpu", "cuda", "numpy")
    True
    """
    if default_backend() != "xla":  # backends of others run the programs that files have for NumPy
        return NUMPY
    return str(_xla().devices()[0].platform)


def _xla() -> Backend:
    if "xla" not in backend_names():
        raise NotImplementedError(
            "export makes StableHLO for all platforms but numpy, which needs the XLA backend: "
            "pip install tangrad-backend-xla"
        )
    return get_backend("xla")


def export(
    fun_jit: object, *, platforms: Sequence[str] | None = None, disabled_checks: Sequence[DisabledSafetyCheck] = ()
) -> Callable[..., Exported]:
    """Make a program of a jitted function, to be called elsewhere, later, and for any sizes.

    Args:
        fun_jit: a function; what `jit` returned keeps its options.
        platforms: names of platforms that the program is for ("cpu", "cuda", "rocm", "tpu", others that XLA is extended
            by, and "numpy" for the NumPy backend); None: that of the default device.
        disabled_checks: see `DisabledSafetyCheck`.

    Returns:
        A function of the arguments, or of their types, which returns the `Exported`. Dimensions may be symbolic.

    Raises:
        TypeError: for what is no function.
        ValueError: for misspelt platforms; for custom calls that others may not have; for shapes that do not determine
            their variables.
        NotImplementedError: for programs with ordered effects, or in memories of devices; for platforms other than
            "numpy" without the XLA backend.
        ArtifactError: for what has no form in a file of NumPy's, where that is among the platforms.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> from tangrad import export
    >>> spec = export.symbolic_args_specs(np.ones((4, 3)), "b, ...")
    >>> doubled = export.export(tangrad.jit(lambda x: 2 * x))(spec)
    >>> doubled.out_avals
    (ShapedArray(float32[b,3]),)
    """
    if not isinstance(fun_jit, Wrapped):
        if not callable(fun_jit):
            raise TypeError(f"export takes a function, got {fun_jit!r} of type {type(fun_jit).__name__}")
        fun_jit = jit(fun_jit)
    checks = tuple(disabled_checks)
    if not all([isinstance(check, DisabledSafetyCheck) for check in checks]):
        raise TypeError(f"export: disabled_checks must consist of DisabledSafetyCheck, got {disabled_checks!r}")

    def exported(*args: object, **kwargs: object) -> Exported:
        chosen = _checked_platforms(platforms)
        _check_scopes(args, kwargs)
        traced = fun_jit.trace(*args, **kwargs)
        parts = parts_of_traced(traced)
        if parts.outer:
            raise ValueError(f"export: {parts.name} uses values of a function that is being traced around it")
        return _exported(parts, traced.in_tree, traced.out_tree, chosen, checks)

    return api_boundary(exported)


def _check_scopes(args: tuple[object, ...], kwargs: dict[str, object]) -> None:
    """Raise ValueError for dimensions of different scopes: variables of one name would be different ones."""
    first: tuple[str, object] | None = None
    for path, leaf in tree.leaves_with_path((args, kwargs)):
        shape = getattr(leaf, "shape", ())  # of static arguments it may be anything
        for size in filter(is_symbolic, shape if isinstance(shape, tuple) else ()):
            label = argument_label(path)
            first = first or (label, size.scope)
            if size.scope is not first[1]:
                raise ValueError(
                    f"export: symbolic scopes are mixed: the dimensions of {first[0]} are of one, {size} of {label} is "
                    "of another; write all shapes with one: symbolic_shape(..., scope=scope)"
                )


def _checked_platforms(platforms: Sequence[str] | None) -> tuple[str, ...]:
    if platforms is None:
        return (default_export_platform(),)
    if isinstance(platforms, str):
        raise TypeError(f"export: platforms must be a sequence of names, got the string {platforms!r}")
    chosen = tuple(["cuda" if name == "gpu" else name for name in platforms])
    words = all([isinstance(name, str) and name.isidentifier() for name in chosen])
    if not chosen or len(set(chosen)) < len(chosen) or not words:
        raise ValueError(f"export: platforms must be different names, such as {PLATFORMS}, got {list(platforms)}")
    for name in set(chosen).difference(PLATFORMS):  # of a plugin of PJRT's: it has the rules for all platforms
        from difflib import get_close_matches  # only to explain an error

        for near in get_close_matches(name.lower(), PLATFORMS, 1, 0.7):
            raise ValueError(f"export: platforms has {name!r}, which is none that is known: did you mean {near!r}?")
    return chosen


def _exported(
    parts: TracedParts,
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
    platforms: tuple[str, ...],
    checks: tuple[DisabledSafetyCheck, ...],
) -> Exported:
    closed, name = parts.program, parts.name
    _check_effects(closed, name)
    found: Plan = plan([aval.shape for aval in closed.in_avals], argument_labels(in_tree, closed.in_avals))
    compiled = tuple([platform for platform in platforms if platform != NUMPY])
    devices = devices_of([*parts.in_shardings, *parts.out_shardings, *program_shardings(closed)])
    inputs = [saved(one, aval.ndim, devices) for one, aval in zip(parts.in_shardings, closed.in_avals, strict=True)]
    placed = [  # what is not stated, types of Explicit axes have
        aval.placed if one is None and aval.infer_types is not None else one
        for one, aval in zip(parts.out_shardings, closed.out_avals, strict=True)
    ]
    outputs = [saved(one, aval.ndim, devices) for one, aval in zip(placed, closed.out_avals, strict=True)]
    module = _module(parts, compiled, found, checks) if compiled else b""
    program = portable_program(closed) if NUMPY in platforms else None
    return Exported(
        fun_name=name,
        in_tree=in_tree,
        in_avals=tuple(closed.in_avals),
        out_tree=out_tree,
        out_avals=tuple(closed.out_avals),
        platforms=platforms,
        mlir_module_serialized=module,
        program_serialized=b"" if program is None else written_program(program, found.labels),
        nr_devices=len(devices) or 1,
        in_shardings=tuple(inputs),
        out_shardings=tuple(outputs),
        disabled_safety_checks=checks,
        unordered_effects=tuple(sorted([effect for effect in closed.effects if not effect.ordered], key=str)),
        uses_global_constants=len(compiled) > 1 or first_symbolic(closed.in_avals) is not None,
        _program=program,
        _get_vjp=lambda _: _exported_vjp(parts, platforms, checks),
        _plan=found,
    )


def _check_effects(closed: ClosedJaxpr, name: str) -> None:
    ordered = sorted([str(effect) for effect in closed.effects if effect.ordered])
    if ordered:
        raise NotImplementedError(
            f"export: {name} has ordered effects ({', '.join(ordered)}), and an exported program has no caller to wait "
            "for: take them out, or let them be unordered"
        )


def _module(
    parts: TracedParts, platforms: tuple[str, ...], found: Plan, checks: tuple[DisabledSafetyCheck, ...]
) -> bytes:
    """The StableHLO of a program for some platforms."""
    lowered = lower_program(
        parts.program,
        _xla(),
        parts.name,
        keep_unused=True,
        in_shardings=stated(parts.in_shardings),
        out_shardings=stated(parts.out_shardings),
        extra={"export": {"platforms": platforms, "dimensions": found}},
    ).lowered
    contents = lowered.contents()
    check_contents(f"export: {parts.name}", contents.operations, contents.targets, checks, only_made=True)
    return lowered.portable_artifact()


def _exported_vjp(parts: TracedParts, platforms: tuple[str, ...], checks: tuple[DisabledSafetyCheck, ...]) -> Exported:
    closed = parts.program
    count = len(closed.in_avals)

    def pulled_back(*values: Value) -> Values:
        def run(*primals: Value) -> list[Value]:
            return eval_jaxpr(closed.jaxpr, closed.consts, *primals)

        _, pullback = vjp(run, *values[:count])
        return pullback(list(values[count:]))

    pulled_back.__name__ = f"vjp_{parts.name}"
    cotangents = [tangent_aval(aval) for aval in closed.out_avals]
    traced = jit(pulled_back).trace(*closed.in_avals, *cotangents)
    out_tree = tree.structure((0,) * count)
    made = parts_of_traced(traced)
    inputs, outputs = parts.in_shardings, parts.out_shardings
    made = made._replace(in_shardings=[*inputs, *outputs], out_shardings=inputs)  # a cotangent is sharded as its value
    return _exported(made, traced.in_tree, out_tree, platforms, checks)
