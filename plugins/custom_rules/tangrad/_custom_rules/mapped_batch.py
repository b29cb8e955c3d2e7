"""How calls with batch rules of their own are mapped: by these rules, and by the derivatives of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from tangrad._custom_rules.mapped import TangentRule, custom_vmap_call_p
from tangrad.autodiff import instantiate, jvp_flat
from tangrad.batching import AxisInfo, batch_flat, batch_jaxpr, place_axis, to_front
from tangrad.core import ClosedJaxpr, RuleSet

if TYPE_CHECKING:
    from tangrad.typing import Dims

Results: TypeAlias = tuple[list[Any], list[bool]]

batch = RuleSet("batch", api=1)


@batch.rule(custom_vmap_call_p)
def _(args: Any, dims: Dims, *, axis_info: AxisInfo, jaxpr: ClosedJaxpr, rule: Any, num_consts: int, name: str) -> Any:
    if rule is None:
        program, out_mapped = batch_jaxpr(jaxpr, [dim is not None for dim in dims], axis_info)
        values = [to_front(arg, dim) for arg, dim in zip(args, dims, strict=True)]
        outs = custom_vmap_call_p.bind(*values, jaxpr=program, rule=None, num_consts=num_consts, name=name)
        return outs, tuple([0 if is_mapped else None for is_mapped in out_mapped])
    if any([dim is not None for dim in dims[:num_consts]]):
        raise TypeError(
            f"the custom_vmap function {name} closes over a value that is mapped, but its rule only knows of its "
            f"arguments; make the value an argument of {name}"
        )
    mapped = [dim is not None for dim in dims[num_consts:]]
    values = [to_front(arg, dim) for arg, dim in zip(args[num_consts:], dims[num_consts:], strict=True)]
    outs, flags = _mapped(rule, axis_info.size, mapped, values)
    return tuple(outs), tuple([0 if flag else None for flag in flags])


def _mapped(rule: Any, size: Any, mapped: Sequence[bool], values: Sequence[Any]) -> Results:
    """The flat results of a rule, mapped axes in front, and which of them are mapped."""
    if type(rule) is not TangentRule:
        return rule(size, mapped, values)
    count = len(values) // 2
    pairs = list(zip(mapped[:count], mapped[count:], strict=True))
    if not any([one and other for one, other in pairs]):
        found = _one_by_one(rule.of, size, mapped, values)
        if found is not None:
            return found
    either = [one or other for one, other in pairs]
    flags: list[bool] = []
    # A primal and its tangent must be mapped alike.
    placed = [
        place_axis(value, 0 if is_mapped else None, 0, size) if wanted else value
        for value, is_mapped, wanted in zip(values, mapped, [*either, *either], strict=True)
    ]

    def run(*primals: Any) -> list[Any]:
        outs, found = _mapped(rule.of, size, either, primals)
        flags.extend(found)
        return outs

    outs, tangents = jvp_flat(run, placed[:count], placed[count:])
    return [*outs, *[instantiate(tangent) for tangent in tangents]], [*flags, *flags]


def _one_by_one(rule: Any, size: Any, mapped: Sequence[bool], values: Sequence[Any]) -> Results | None:
    """Where no primal is mapped along with its tangent: the derivative of `rule` for one example, mapped.

    So what depends on neither stays unmapped. None if the rule maps results of its own accord.
    """
    count = len(values) // 2
    flags: list[bool] = []

    def one(*primals: Any) -> list[Any]:
        outs, found = _mapped(rule, size, [False] * count, primals)
        flags.extend(found)
        return outs

    def run(*inputs: Any) -> list[Any]:
        outs, tangents = jvp_flat(one, inputs[:count], inputs[count:])
        return [*outs, *[instantiate(tangent) for tangent in tangents]]

    dims = [0 if is_mapped else None for is_mapped in mapped]
    results, out_dims = batch_flat(run, values, dims, AxisInfo(None, size))
    if any(flags):
        return None
    placed = [to_front(result, dim) for result, dim in zip(results, out_dims, strict=True)]
    return placed, [dim is not None for dim in out_dims]
