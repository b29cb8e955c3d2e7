"""Policies about primitives: the hook `tangrad_before_apply`, for operations one by one and for whole programs."""

from __future__ import annotations

from tangrad._core.composition.hook_names import BEFORE_APPLY
from tangrad._core.composition.hooks import HookContext, hooks
from tangrad._core.composition.registry import composition
from tangrad._core.kernel import transfers
from tangrad._core.kernel.array import Literal
from tangrad._core.kernel.jaxpr import ClosedJaxpr, Jaxpr, sub_jaxprs
from tangrad._core.kernel.primitive import Compute, Primitive, watch_operations
from tangrad._core.kernel.trace import find_backend


def _asking(compute: Compute) -> Compute:
    """Around what computes operations: every policy has its say first. Raises RefusedError."""

    def ask_and_compute(primitive: Primitive, args: tuple[object, ...], params: dict[str, object]) -> object:
        if hooks.observes(BEFORE_APPLY):
            backend, operands = find_backend(args)
            context = HookContext(primitive.name, backend.name, backend.platform, {"eager": True})
            hooks.before_apply(primitive, tuple([operand.aval for operand in operands]), params, context)
        return compute(primitive, args, params)

    return ask_and_compute


def ask_about(program: ClosedJaxpr | Jaxpr, context: HookContext) -> None:
    """Ask the policies about each equation of a program. Raises RefusedError where one refuses."""
    for eqn in program.eqns:
        hooks.before_apply(eqn.primitive, tuple([atom.aval for atom in eqn.invars]), eqn.params, context)
        for inner in sub_jaxprs(eqn.params):
            ask_about(inner, context)


def _guarding(compute: Compute) -> Compute:
    """Around what computes operations: what these bring from the host is reported first. Raises RuntimeError."""

    def report_and_compute(primitive: Primitive, args: tuple[object, ...], params: dict[str, object]) -> object:
        transfers.brought(next((arg.aval for arg in args if type(arg) is Literal), None), put=False)
        return compute(primitive, args, params)

    return report_and_compute


for _guard in transfers.GUARDS:
    _guard.on_change(lambda level: watch_operations(_guarding, transfers.watch.on))

composition().hook_listeners.append(lambda manager: watch_operations(_asking, BEFORE_APPLY in manager.computes))
