"""`print_saved_residuals`: what a gradient of a function keeps."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tangrad import tree
from tangrad._custom_rules.checkpoint.functions import leaves_of, trace
from tangrad._custom_rules.checkpoint.primitives import name_p
from tangrad.autodiff import linearize_jaxpr
from tangrad.core import Jaxpr, Literal, Var, dtypes
from tangrad.tree_util import PyTreeDef, keystr


def saved_residuals(fun: Callable[..., Any], *args: object, **kwargs: object) -> list[tuple[Any, str]]:
    """What a gradient of `fun` at these arguments keeps: pairs of a type and a description of where it comes from.

    Constants come first, then arguments, then results of operations, in the order of the program.

    >>> import tangrad
    >>> from tangrad.ad_checkpoint import saved_residuals
    >>> [(aval.str_short(), source) for aval, source in saved_residuals(lambda x: x * x, 1.0)]
    [('f32[]', 'from the argument x')]
    """
    leaves, treedef = leaves_of(getattr(fun, "__name__", type(fun).__name__), args, kwargs)
    traced = trace(fun, (), treedef, tuple([leaf.aval for leaf in leaves]))
    active = [False] * len(traced.consts)
    active += [bool(dtypes.issubdtype(leaf.aval.dtype, np.inexact)) for leaf in leaves]
    program = linearize_jaxpr(traced.jaxpr, active)
    jaxpr = program.primal.jaxpr
    own = iter(jaxpr.outvars[len(program.nonzero) :])
    atoms = [next(own) if source is None else jaxpr.invars[source] for source in program.residual_sources]
    names = ["a constant"] * len(traced.consts)
    names += [f"the argument {name}" for name in argument_names(fun, treedef, args, kwargs)]
    inputs = {var: position for position, var in enumerate([*jaxpr.constvars, *jaxpr.invars])}
    names = ["a constant"] * len(jaxpr.constvars) + names
    producers = {var: position for position, eqn in enumerate(jaxpr.eqns) for var in eqn.outvars}
    found: dict[Any, tuple[Any, tuple[Any, str]]] = {}
    for atom in atoms:
        if type(atom) is Literal:
            continue
        if atom in inputs:
            found[atom] = (0, inputs[atom]), (atom.aval, f"from {names[inputs[atom]]}")
        else:
            found[atom] = (1, producers[atom]), (atom.aval, _origin(jaxpr, atom))
    return [pair for _, pair in sorted(found.values(), key=lambda entry: entry[0])]


def argument_names(
    fun: Callable[..., Any], treedef: PyTreeDef, args: Sequence[object], kwargs: Mapping[str, object]
) -> list[str]:
    """What a user would write for each leaf of the arguments: `x`, `weights['b'][0]`."""
    paths = [path for path, _ in tree.leaves_with_path(treedef.unflatten(range(treedef.num_leaves)))]
    bound: dict[str, Any] = {}
    parameters: Mapping[str, Any] = {}
    with contextlib.suppress(ValueError, TypeError, AttributeError):  # some builtins have no signature
        signature = inspect.signature(fun)
        bound, parameters = signature.bind(*args, **kwargs).arguments, signature.parameters
    roots: list[str] = []
    for name, value in bound.items():
        if parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            roots.extend([f"{name}[{position}]" for position in range(len(value))])
        else:
            roots.append(name)
    found = []
    for path in paths:
        (is_keyword, key), rest = (path[0].idx, path[1]), keystr(path[2:])
        if is_keyword:
            name = key.key if key.key in parameters else f"kwargs{keystr(path[1:2])}"
        else:
            name = roots[key.idx] if key.idx < len(roots) else f"args[{key.idx}]"
        found.append(name + rest)
    return found


def _origin(jaxpr: Jaxpr, var: Var) -> str:
    """The operation that computes a variable; inside calls, the operation there."""
    eqn = next(eqn for eqn in jaxpr.eqns if var in eqn.outvars)
    inner = eqn.params.get("jaxpr")
    if eqn.primitive is name_p:
        text = f"named {eqn.params['name']!r}"
    elif inner is not None and hasattr(inner, "jaxpr") and len(inner.out_avals) == len(eqn.outvars):
        atom = inner.jaxpr.outvars[list(eqn.outvars).index(var)]
        if type(atom) is not Literal and any([atom in step.outvars for step in inner.eqns]):
            return _origin(inner.jaxpr, atom)
        text = f"output of {eqn.primitive.name}"
    else:
        text = f"output of {eqn.primitive.name}"
    return f"{text} from {eqn.source_info.summarize()}" if eqn.source_info is not None else text


def print_saved_residuals(f: Callable[..., Any], *args: object, **kwargs: object) -> None:
    """Print what a gradient of `f` at these arguments keeps: a line for each value, its type and its source.

    >>> import tangrad
    >>> from tangrad.ad_checkpoint import print_saved_residuals
    >>> print_saved_residuals(lambda x: x * x, 1.0)
    f32[] from the argument x
    """
    for aval, source in saved_residuals(f, *args, **kwargs):
        print(f"{aval.str_short()} {source}")
