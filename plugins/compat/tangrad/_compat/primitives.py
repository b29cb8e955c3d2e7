"""Tangrad's primitives by the names that they have in jax: `tanh_p` for `tanh`."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import tangrad
from tangrad import core
from tangrad.autodiff import Linear, symbolic_zeros
from tangrad.core import PrimitiveSet, RuleSet, ShapedArray, register
from tangrad.core.tools import EXTENSION_API, families, primitive_set

if TYPE_CHECKING:
    from typing import NoReturn, TypeVar

    R = TypeVar("R", bound="Rule")
    from tangrad.typing import ArrayLike, Params, Value, Values


# --- Tangrad's primitives by the names that they have in jax: `tanh_p` for `tanh` ---

# Where jax calls one otherwise.
RENAMED = {"add_jaxvals": "add_any", "broadcast": "broadcast_in_dim", "linear_solve": "custom_linear_solve"}
RENAMED |= {"checkpoint": "remat", "pjit": "jit"}
# Those of jax that programs traced here never have: packages ask for them to distinguish them from others.
NEVER = frozenset(
    [
        "after_all",
        "call",
        "closed_call",
        "core_call",
        "create_token",
        "dce_sink",
        "empty2",
        "get",
        "infeed",
        "ormqr",
        "outfeed",
        "ragged_all_to_all",
        "remat_opt",
        "rng_uniform",
        "select_and_scatter",
        "stack",
        "stage",
        "swap",
        "symmetric_product",
        "tile",
        "unstack",
        "xla_pmap",
    ]
)


@cache
def _by_name() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for family in families():
        if not family.startswith("jax_alias"):
            for name, primitive in primitive_set(family).primitives.items():
                found.setdefault(name, primitive)
    return found


def primitive_called(module: str, name: str) -> Primitive:
    """The primitive that `module` calls `name` (`tanh_p`). Raises AttributeError where there is none."""
    bare = name.removesuffix("_p")
    primitive = _by_name().get(RENAMED.get(bare, bare)) if name.endswith("_p") else None
    if primitive is None and name.endswith("_p") and bare in NEVER:
        return _never(bare)
    if primitive is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
    return primitive


@cache
def _never(bare: str) -> Primitive:
    return Primitive(bare)


# --- Primitives as packages make them for jax, with the rules that they put into its tables, as Tangrad knows them ---
# There a primitive is made by its name, gets its abstract evaluation and its other parts one by one, and its rules by
# assignment to tables (`ad.primitive_jvps[p] = rule`). Here each is a primitive of a family of its own, and a rule
# that is assigned is registered as a rule set of one rule. Rules are called as jax calls them.

FAMILY = "jax_alias"
Rule = Callable[..., Any]

_numbers = itertools.count()


# Asked of the primitives of all equations, by those who walk through jaxprs. Calls are none here: their programs are
# parameters.
for _kind in ("call_primitive", "map_primitive"):
    setattr(core.Primitive, _kind, False)


class _AnyPrimitive(type):
    """`isinstance(p, Primitive)` holds for Tangrad's own, too: programs ask it of the equations of jaxprs."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, core.Primitive)


class Primitive(core.Primitive, metaclass=_AnyPrimitive):
    """A primitive made by its name, as `jax.extend.core.Primitive`.

    Args:
        name: what jaxprs print.

    Attributes:
        multiple_results: set to True where it returns several; `bind` then returns a list.
        impl: how it is computed outside of transformations, where that was given.

    >>> import tangrad
    >>> from tangrad._compat.primitives import Primitive
    >>> twice = Primitive("twice")
    >>> _ = twice.def_abstract_eval(lambda x: x)
    >>> _ = twice.def_impl(lambda x: x + x)
    >>> twice.bind(tangrad.numpy.arange(3))
    Array([0, 2, 4], dtype=int32)
    """

    def __init__(self, name: str) -> None:
        family = f"{FAMILY}_{next(_numbers)}"
        own: Any = type(self)
        super().__init__(
            _printable(name),
            _no_abstract_eval(name),
            family=family,
            weak_type="own",
            multiple_results=getattr(own, "multiple_results", False) is True,
        )
        self.impl: Rule | None = None
        self._lowered_for: str | None = None
        # Classes of a package's own may say the parts as methods; that of the types returns effects, too.
        if inspect.isfunction(getattr(own, "abstract_eval", None)):
            self.def_effectful_abstract_eval(functools.partial(own.abstract_eval, self))
        if inspect.isfunction(getattr(own, "impl", None)):
            self.def_impl(functools.partial(own.impl, self))
        primitives = PrimitiveSet(family, api=EXTENSION_API)
        primitives.add(self)
        register(primitives)

    def def_impl(self, impl: Rule) -> Rule:
        """Say how it is computed outside of transformations: `impl(*arrays, **params)`."""
        if isinstance(impl, functools.partial) and impl.func is apply_primitive:  # what is done without an impl, too
            return impl
        self.impl = impl
        self.evaluate = lambda args, params: impl(*map(core.as_array, args), **params)  # no literals
        if self._lowered_for is None:  # jax cannot compile it yet; here what computes it serves
            self.decompose = impl
        return impl

    def def_abstract_eval(self, rule: Rule) -> Rule:
        """Say the types of its results: `rule(*avals, **params)` returns one aval, or several."""
        self.abstract_eval = rule
        self.clear_cache()
        return rule

    def def_effectful_abstract_eval(self, rule: Rule) -> Rule:
        """As `def_abstract_eval`, of a rule that returns the types and a set of effects."""
        self.effects = lambda avals, params: frozenset(rule(*avals, **params)[1])
        self.def_abstract_eval(lambda *avals, **params: rule(*avals, **params)[0])
        return rule

    def lowered_by(self, rule: Rule, platform: str | None = None) -> None:
        """Have it compiled by a lowering, which gets and returns arrays in the place of MLIR's values."""
        if platform is not None and self._lowered_for == "all":
            return
        self._lowered_for = platform or "all"

        def decompose(*args: Value, **params: object) -> Value | Values:
            avals = tuple([core.get_aval(arg) for arg in args])
            found = self.infer(avals, params)
            outs = tuple(found) if self.multiple_results else (found,)
            out = rule(LoweringContext(self, avals, outs), *_shown(args), **params)
            return tuple(out) if self.multiple_results else _only(out)

        self.decompose = decompose

    def bind(self, *args: ArrayLike, **params: Any) -> Any:
        out = super().bind(*[core.as_operand(arg) for arg in args], **params)
        return list(out) if self.multiple_results else out

    def infer(self, avals: tuple[ShapedArray, ...], params: Params) -> Any:
        try:
            return super().infer(avals, params)
        except TypeError:  # parameters that cannot be hashed: jax asks that of none until it compiles
            if all(_is_hashable(value) for value in params.values()):
                raise
        return self._infer(avals, params)


def apply_primitive(primitive: Primitive, *args: object, **params: object) -> object:
    """The results of a primitive by its lowering. Raises NotImplementedError where it has none."""
    if primitive.decompose is None or primitive.decompose is primitive.impl:
        raise NotImplementedError(
            f"the primitive {primitive.name!r} has no lowering: mlir.register_lowering(p, mlir.lower_fun(f))"
        )
    return primitive.decompose(*args, **params)


def _printable(name: str) -> str:
    return "".join([letter if letter.isalnum() or letter in "_.-" else "_" for letter in name]) or "_"


def _no_abstract_eval(name: str) -> Rule:
    def rule(*_: object, **__: object) -> NoReturn:
        raise NotImplementedError(
            f"abstract evaluation of the primitive {name!r} is not defined: p.def_abstract_eval(rule)"
        )

    return rule


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _only(out: Values) -> Value:
    """The one result of a lowering, which may stand in a list."""
    return out[0] if isinstance(out, (list, tuple)) else out


class LoweringContext:
    """What a lowering rule is called with: the primitive and the types. It has no MLIR to build.

    Attributes:
        primitive: the primitive.
        avals_in, avals_out: the types of its operands and of its results.
        module_context: takes what a program is to keep alive, and has nothing else.
    """

    __slots__ = ("avals_in", "avals_out", "module_context", "primitive")

    def __init__(
        self, primitive: Primitive, avals_in: tuple[ShapedArray, ...], avals_out: tuple[ShapedArray, ...]
    ) -> None:
        self.primitive = primitive
        self.avals_in = avals_in
        self.avals_out = avals_out
        self.module_context = ModuleContext(primitive)

    def __getattr__(self, name: str) -> NoReturn:
        raise _builds_none(self.primitive, f"ctx.{name}")


class ModuleContext:
    """The module that a lowering rule adds to: there is none here, and what a program calls lives with it anyway."""

    __slots__ = ("_primitive",)

    def __init__(self, primitive: Primitive) -> None:
        self._primitive = primitive

    def add_keepalive(self, keepalive: object) -> None:
        """Nothing is to be done."""

    def __getattr__(self, name: str) -> NoReturn:
        raise _builds_none(self._primitive, f"ctx.module_context.{name}")


def _builds_none(primitive: Primitive, wanted: str) -> NotImplementedError:
    return NotImplementedError(
        f"the lowering of the primitive {primitive.name!r} looks for `{wanted}`: 'jax' is an alias "
        "of Tangrad here (tangrad.compat.jax), whose lowerings are functions (`mlir.lower_fun(f)`) and build none"
    )


# --- tables of rules -----------------------------------------------------------------------------------------------


class RuleAssignments(MutableMapping[core.Primitive, Rule]):
    """A table of rules as packages fill it: `table[primitive] = rule` registers the rule.

    Args:
        kind: the rule kind of Tangrad.
        adapt: makes of a rule in jax's form one in Tangrad's: `(primitive, rule) -> rule`.

    What is looked up is what was assigned. Tangrad's own rules are not in it: they have another form.
    """

    def __init__(self, kind: str, adapt: Callable[[core.Primitive, Rule], Rule]) -> None:
        self._kind = kind
        self._adapt = adapt
        self._rules: dict[core.Primitive, tuple[Rule, Any]] = {}

    def __setitem__(self, primitive: core.Primitive, rule: Rule) -> None:
        self.pop(primitive, None)
        # Assigning a rule to a primitive that has one replaces it.
        rules: RuleSet[Rule] = RuleSet(self._kind, api=EXTENSION_API, override=True)
        rules.add(primitive, self._adapt(primitive, rule))
        self._rules[primitive] = rule, register(rules)

    def __getitem__(self, primitive: core.Primitive) -> Rule:
        return self._rules[primitive][0]

    def __delitem__(self, primitive: core.Primitive) -> None:
        self._rules.pop(primitive)[1].undo()

    def __iter__(self) -> Iterator[core.Primitive]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)


def _shown(values: Sequence[Any]) -> tuple[Any, ...]:
    """Operands as rules of jax's form take them: rules ask whether one is an array, which literals are not.

    Those of Python's numbers are none there either.
    """
    return tuple([core.as_array(v) if isinstance(v, core.Literal) and not v.aval.weak_type else v for v in values])


def _adapt_jvp(primitive: core.Primitive, rule: Rule) -> Rule:
    return symbolic_zeros(lambda primals, tangents, **params: rule(_shown(primals), tangents, **params))


def _adapt_transpose(primitive: core.Primitive, rule: Rule) -> Rule:
    def transpose(cotangents: object, *args: Value | Linear, **params: object) -> tuple[Value | None, ...]:
        out = rule(cotangents, *_shown(args), **params)
        return (None,) * len(args) if out is None else tuple(out)

    return symbolic_zeros(transpose)


def _adapt_batch(primitive: core.Primitive, rule: Rule) -> Rule:
    return lambda args, dims, *, axis_info, **params: rule(_shown(args), dims, **params)


def _adapt_axis_batch(primitive: core.Primitive, rule: Rule) -> Rule:
    return lambda args, dims, *, axis_info, **params: rule(axis_info, _shown(args), dims, **params)


def _adapt_sized_batch(primitive: core.Primitive, rule: Rule) -> Rule:
    return lambda args, dims, *, axis_info, **params: rule(
        axis_info.size, axis_info.name, None, _shown(args), dims, **params
    )


primitive_jvps = RuleAssignments("jvp", _adapt_jvp)
primitive_transposes = RuleAssignments("transpose", _adapt_transpose)
primitive_batchers = RuleAssignments("batch", _adapt_batch)
fancy_primitive_batchers = RuleAssignments("batch", _adapt_axis_batch)
axis_primitive_batchers = RuleAssignments("batch", _adapt_sized_batch)


# --- `jax.interpreters.mlir`: how primitives are compiled, given by a function ----------------------------------------
# Rules that build MLIR themselves are not taken: a rule here is `lower_fun(f)`, or one that hands operands on or calls
# Python with them.


def lower_fun(
    function: Callable[..., Value | Sequence[Value]], multiple_results: bool = True
) -> Callable[..., Sequence[Value]]:
    """The lowering of a primitive as what `function(*operands, **params)` computes."""

    def rule(context: object, *operands: object, **params: object) -> Sequence[Value]:
        out: Any = function(*operands, **params)
        return out if multiple_results else (out,)

    return rule


def emit_python_callback(
    ctx: LoweringContext,
    callback: Callable[..., Any],
    token: object,
    operands: Sequence[Value],
    operand_avals: Sequence[ShapedArray],
    result_avals: Sequence[ShapedArray],
    *,
    has_side_effect: bool,
    **options: object,
) -> tuple[Sequence[Value], object, None]:
    """Have a lowering call a Python function of arrays on the host: its results, the token, nothing to keep alive.

    Raises NotImplementedError where it has side effects: those of a primitive of a package are its own, not a call's.
    """
    if has_side_effect:
        raise _builds_none(ctx.primitive, "emit_python_callback(has_side_effect=True)")
    types = [tangrad.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in result_avals]
    return tangrad.pure_callback(lambda *args: list(callback(*args)), types, *operands), token, None


def register_lowering(primitive: Primitive, rule: R, platform: str | None = None, **options: object) -> R:
    """Have a primitive compiled by a rule. One for a single platform counts where there is none for all of them."""
    if not isinstance(primitive, Primitive) or not hasattr(primitive, "lowered_by"):
        raise TypeError(f"{primitive} is a primitive of Tangrad: its lowerings are rule sets (docs/plugin-guide.md)")
    primitive.lowered_by(rule, platform)
    return rule
