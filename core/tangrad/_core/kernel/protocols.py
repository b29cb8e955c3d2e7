"""What rules of each kind must look like, and what backends hand out, as types. For editors and type checkers.

A rule set knows its kind, so that a rule of another form is found before anything runs:

    jvp = RuleSet("jvp", api=1)

    @jvp.rule(lambertw_p)
    def _(primals: Array) -> Array: ...  # mypy: incompatible type "Callable[[Array], Array]"; expected "JvpRule"

Parameters of primitives are keyword arguments of their own in each rule; the protocols leave them open, and cannot
demand a keyword that every rule gets, such as `axis_info`. To type checkers the kernel's `Backend` and `Executable` are
protocols, too: classes may satisfy them without inheriting.

The kernel itself imports nothing of this module while programs run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, overload

from tangrad._core.kernel.array import Array
from tangrad._core.kernel.aval import AbstractValue as Type
from tangrad._core.kernel.jaxpr import JaxprEqn
from tangrad._core.kernel.keys import Params
from tangrad._core.kernel.primitive import Primitive

# --- rules, a protocol for each kind ---

Names: TypeAlias = tuple[Hashable, ...]


class AxisInfo(Protocol):
    """The axis that a `vmap` maps over, as batch rules get it.

    Attributes:
        name: its name for collectives, or None.
        size: its size.
        spmd_name: the mesh axis that it is sharded over, or None.
    """

    name: Hashable
    size: Any
    spmd_name: Hashable


class Linearized(Protocol):
    """What a `linearize` rule returns: results, residuals, and the linear part as a closed jaxpr."""

    primals_out: Any
    residuals: Any
    linear_jaxpr: Any
    nonzero: Any


class PartialEval(Protocol):
    """What a `partial_eval` rule returns: known results, residuals, and the equation of the unknown ones."""

    known_outs: Any
    residuals: Any
    unknown_equation: object
    operands: Any


class JvpRule(Protocol):
    """`(primals, tangents, **params) -> (primals_out, tangents_out)`: the derivative in a direction.

    Both arguments are tuples with an item per operand; with multiple results so are both items of what is returned.
    """

    def __call__(
        self, primals: tuple[Any, ...], tangents: tuple[Any, ...], /, *args: Any, **params: Any
    ) -> tuple[object, object]: ...


class TransposeRule(Protocol):
    """`(cotangents, *args, **params) -> a tuple with a cotangent or None per argument`: where it is linear in some.

    Arguments that it is linear in are placeholders, `tangrad.autodiff.Linear(aval)`.
    """

    def __call__(self, cotangents: Any, /, *args: Any, **params: Any) -> tuple[object, ...]: ...


class LinearizeRule(Protocol):
    """`(primals, active, **params) -> Linearized`: evaluates a call and returns its linear part as a jaxpr."""

    def __call__(
        self, primals: tuple[Any, ...], active: tuple[bool, ...], /, *args: Any, **params: Any
    ) -> Linearized: ...


class PartialEvalRule(Protocol):
    """`(known, args, **params) -> PartialEval or None`: computes of a call what depends on no unknown argument."""

    def __call__(
        self, known: tuple[bool, ...], operands: tuple[Any, ...], /, *args: Any, **params: Any
    ) -> PartialEval | None: ...


class DceRule(Protocol):
    """`(used_outputs, equation) -> (used_inputs, equation or None)`: removes from its programs what is unused."""

    def __call__(self, used_outputs: Sequence[bool], equation: JaxprEqn, /) -> tuple[list[bool], JaxprEqn | None]: ...


class BatchRule(Protocol):
    """`(args, dims, *, axis_info, **params) -> (outs, out_dims)`: a primitive along a mapped axis of some operands.

    `dims` has the position of that axis for each operand, None where it has none; `axis_info` (an `AxisInfo`) is passed
    by keyword. With multiple results `outs` and `out_dims` are sequences.
    """

    def __call__(
        self, operands: tuple[Any, ...], dims: tuple[Any, ...], /, *args: Any, **params: Any
    ) -> tuple[object, object]: ...


class SplitAxisRule(BatchRule, Protocol):
    """`(args, dims, *, axis_info, **params) -> (outs, out_dims)`: a primitive that names an axis in two parts.

    As a batch rule for the inner part, which is a dimension of the operands; `axis_info` (a `SplitAxis`) has the name
    of the outer part, which is in scope.
    """


class AxisSubstRule(Protocol):
    """`(params, subst) -> params`: with other names for mapped axes; `subst(name)` is a tuple of names."""

    def __call__(self, params: Params, subst: Callable[[Hashable], Names], /) -> Mapping[str, object]: ...


class LoweringRule(Protocol):
    """`(ctx, *operands, **params) -> results`: what a backend makes of a primitive, in its own language.

    The backend determines what `ctx` and the operands are, and whether results are values or something to be called.
    """

    def __call__(self, ctx: Any, /, *operands: Any, **params: Any) -> object: ...


class RecomputeRule(Protocol):
    """`(equation, wanted, divide) -> Recomputation`: what of a call checkpoints keep, and what they compute again."""

    def __call__(self, equation: JaxprEqn, wanted: Sequence[bool], divide: Callable[..., Any], /) -> object: ...


class ReplicationRule(Protocol):
    """`(varying, params) -> varying`: along which mapped axes results differ, given along which the operands do."""

    def __call__(self, varying: Sequence[Names], params: Params, /) -> Sequence[Names]: ...


class ShardingRule(Protocol):
    """`(operands, results, params) -> axes`: which mesh axes cut dimensions of results, given those of operands."""

    def __call__(self, operands: tuple[Any, ...], results: tuple[Any, ...], params: Params, /) -> Sequence[object]: ...


class MaskRule(Protocol):
    """`(args, shapes, *, sizes, **params) -> results`: a primitive applied to padded arrays, of which a part counts."""

    def __call__(self, args: Sequence[Any], shapes: Sequence[Any], /, *, sizes: Any, **params: Any) -> object: ...


class CheckifyRule(Protocol):
    """`(args, *, checks, **params) -> results`: a primitive applied to operands; what may fail is noted in `checks`."""

    def __call__(self, args: tuple[Any, ...], /, *, checks: Any, **params: Any) -> object: ...


class PortableRule(Protocol):
    """`(*args, **params) -> results`: a primitive of sparse arrays; what a saved program has in a primitive's place."""

    def __call__(self, *args: Any, **params: Any) -> object: ...


class DischargeRule(Protocol):
    """`(args, own, **params) -> results`: a primitive applied to references, those operands for which `own` is true."""

    def __call__(self, args: tuple[Any, ...], own: tuple[bool, ...], /, **params: Any) -> object: ...


class KeyReuseRule(Protocol):
    """`(avals, **params) -> use`: which random keys a primitive uses, and which of its results are keys."""

    def __call__(self, avals: Sequence[Any], /, **params: Any) -> object: ...


class MakesPrimitive(Protocol):
    """Makes a primitive of an abstract evaluation; the form of its result is that of the primitive's."""

    @overload
    def __call__(self, types: Callable[..., Type], /) -> Primitive[Array]: ...
    @overload
    def __call__(self, types: Callable[..., tuple[Type, Type]], /) -> Primitive[tuple[Array, Array]]: ...
    @overload
    def __call__(self, types: Callable[..., tuple[Type, Type, Type]], /) -> Primitive[tuple[Array, Array, Array]]: ...
    @overload
    def __call__(self, types: Callable[..., Sequence[Type]], /) -> Primitive[tuple[Array, ...]]: ...


# Rule kind -> the type of its rules, `PartialEvalRule` of `partial_eval`. `lower` stands for each backend's kind,
# `lower.numpy` and the like; rules of the last two are of the same form as others.
RULES: dict[str, type[object]] = {
    re.sub(r"\B(?=[A-Z])", "_", name.removesuffix("Rule")).lower(): kind
    for name, kind in tuple(globals().items())
    if name.endswith("Rule")
}
RULES |= {"lower": RULES.pop("lowering"), "roofline": LoweringRule, "sparse": PortableRule}


# --- what backends are made of ---


class Lowered(Protocol):
    """A program in the language that a backend compiles."""

    def as_text(self) -> str: ...
    def compile(self) -> Any: ...


class Coordination(Protocol):
    """How a backend's devices in several processes become those of one computation. Each raises RuntimeError."""

    def check_not_started(self) -> None: ...
    def serve(self, address: str, process_count: int, **timeouts: float) -> None: ...
    def connect(self, address: str, process_index: int, process_count: int, **options: object) -> None: ...
    def leave(self) -> None: ...
