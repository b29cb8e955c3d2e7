"""Policies about primitives: the hook `tangrad_before_apply`, for operations one by one and for whole programs.

The bottom trace gets a function that asks when a plugin implements the hook, or a transfer guard is set; until then it
costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tangrad._core.composition.hook_names import BEFORE_APPLY
from tangrad._core.composition.hooks import HookContext, hooks
from tangrad._core.composition.registry import composition
from tangrad._core.kernel import transfers
from tangrad._core.kernel.array import Literal
from tangrad._core.kernel.jaxpr import ClosedJaxpr, Jaxpr, sub_jaxprs
from tangrad._core.kernel.primitive import EVAL_TRACE, dispatch, forget_direct_calls
from tangrad._core.kernel.trace import find_backend


def ask_and_evaluate(primitive: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """As `dispatch`, once every policy and transfer guard had its say. Raises RefusedError, RuntimeError."""
    if transfers.watch.on:
        transfers.brought(next((arg.aval for arg in args if type(arg) is Literal), None), put=False)
    if hooks.observes(BEFORE_APPLY):
        backend, operands = find_backend(args)
        context = HookContext(primitive.name, backend.name, backend.platform, {"eager": True})
        hooks.before_apply(primitive, tuple([operand.aval for operand in operands]), params, context)
    return _computed[0](primitive, args, params)


_computed: list[Callable[..., Any]] = [dispatch]


def watch_operations(around: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Have eager operations go through `around(compute)`, of the function that computed them before, from now on."""
    _computed[0] = around(_computed[0])
    _watch("log")


def ask_about(closed_jaxpr: ClosedJaxpr, context: HookContext) -> None:
    """Ask the policies, if there are any, about each equation of a program. Raises RefusedError where one refuses."""
    _ask_about_equations(closed_jaxpr.jaxpr, context)


def _ask_about_equations(jaxpr: Jaxpr, context: HookContext) -> None:
    for eqn in jaxpr.eqns:
        hooks.before_apply(eqn.primitive, tuple([atom.aval for atom in eqn.invars]), eqn.params, context)
        for inner in sub_jaxprs(eqn.params):
            _ask_about_equations(inner.jaxpr if isinstance(inner, ClosedJaxpr) else inner, context)


def _follow(manager: Any) -> None:
    """Have eager operations ask, or no longer, after the hook objects changed."""
    asked = BEFORE_APPLY in manager.computes
    if asked and not EVAL_TRACE.watched:
        EVAL_TRACE.process_primitive = ask_and_evaluate
        forget_direct_calls()
    elif (
        not asked
        and not transfers.watch.on
        and _computed[0] is dispatch
        and EVAL_TRACE.process_primitive is ask_and_evaluate
    ):
        EVAL_TRACE.process_primitive = dispatch


def _watch(level: str | None) -> None:
    """Have eager operations say what they bring from the host, once a guard was set."""
    if level not in (None, "allow") and not EVAL_TRACE.watched:
        EVAL_TRACE.process_primitive = ask_and_evaluate
        forget_direct_calls()


for _guard in transfers.GUARDS:
    _guard.on_change(_watch)

composition().hook_listeners.append(_follow)
