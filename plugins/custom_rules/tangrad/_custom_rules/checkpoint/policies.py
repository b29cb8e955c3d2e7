"""What a gradient keeps: policies, `(primitive, *avals, **params) -> decision`, and names of values for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from tangrad import tree
from tangrad._custom_rules.checkpoint.primitives import name_p
from tangrad.core import Primitive, ShapedArray, as_array, class_boundary

if TYPE_CHECKING:
    from tangrad.typing import PyTree


Policy = Callable[..., object]


class _Decision:
    """What a policy may return in place of a boolean."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


Saveable = _Decision("Saveable")
Recompute = _Decision("Recompute")


class Offloadable(NamedTuple):
    """The decision to keep a value in another memory.

    Kept in the memory that it is in: there is one memory only.

    Attributes:
        src, dst: names of memories.

    >>> from tangrad.ad_checkpoint import Offloadable
    >>> Offloadable("device", "pinned_host")
    Offloadable(src='device', dst='pinned_host')
    """

    src: str
    dst: str


def keeps(decision: object) -> bool:
    """Whether a policy's decision is to keep the value. Raises TypeError for what is no decision."""
    if isinstance(decision, bool):
        return decision
    if decision is Recompute:
        return False
    if decision is Saveable or isinstance(decision, Offloadable):
        return True
    raise TypeError(
        "a checkpoint policy must return a boolean, ad_checkpoint.Saveable, ad_checkpoint.Recompute or "
        f"ad_checkpoint.Offloadable(src=..., dst=...), got {decision!r} of type {type(decision).__name__}"
    )


def everything_saveable(primitive: Primitive, *avals: ShapedArray, **params: object) -> bool:
    """Keep all, as without `checkpoint`."""
    return True


def nothing_saveable(primitive: Primitive, *avals: ShapedArray, **params: object) -> bool:
    """Keep the arguments alone, as `checkpoint` without a policy."""
    return False


def dots_saveable(primitive: Primitive, *avals: ShapedArray, **params: object) -> bool:
    """Keep the results of matrix products and convolutions, which are dear to compute again."""
    return primitive.name in ("dot_general", "conv_general_dilated")


def dots_with_no_batch_dims_saveable(primitive: Primitive, *avals: ShapedArray, **params: Any) -> bool:
    """Keep the results of matrix products without batch dimensions: those with weights, not those of attention."""
    if primitive.name != "dot_general":
        return False
    _, (batch, other_batch) = params["dimension_numbers"]
    return not batch and not other_batch


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
    """As `dots_with_no_batch_dims_saveable`, keeping the results in the memory `offload_dst`."""
    return _Offloading(offload_src, offload_dst)


class _Policy:
    """A policy that is made of its arguments: equal ones are interchangeable, and find the same programs."""

    __slots__ = ("arguments",)

    def __init__(self, *arguments: Any) -> None:
        self.arguments = arguments

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.arguments == self.arguments

    def __hash__(self) -> int:
        return hash((type(self), self.arguments))

    def __repr__(self) -> str:
        return f"{type(self).__name__.strip('_')}{self.arguments}"


class _Offloading(_Policy):
    __slots__ = ()

    def __call__(self, primitive: Primitive, *avals: ShapedArray, **params: object) -> object:
        kept = dots_with_no_batch_dims_saveable(primitive, *avals, **params)
        return Offloadable(*self.arguments) if kept else Recompute


class _OnlyTheseNames(_Policy):
    __slots__ = ()

    def __call__(self, primitive: Primitive, *avals: ShapedArray, **params: Any) -> bool:
        return primitive is name_p and params["name"] in self.arguments[0]


class _AnyNamesButThese(_Policy):
    __slots__ = ()

    def __call__(self, primitive: Primitive, *avals: ShapedArray, **params: Any) -> bool:
        return primitive is name_p and params["name"] not in self.arguments[0]


class _AnythingExceptTheseNames(_Policy):
    __slots__ = ()

    def __call__(self, primitive: Primitive, *avals: ShapedArray, **params: Any) -> bool:
        return primitive is not name_p or params["name"] not in self.arguments[0]


class _NamesSavedOrOffloaded(_Policy):
    __slots__ = ()

    def __call__(self, primitive: Primitive, *avals: ShapedArray, **params: Any) -> object:
        saved, offloaded, src, dst = self.arguments
        if primitive is not name_p:
            return Recompute
        name = params["name"]
        return Saveable if name in saved else Offloadable(src, dst) if name in offloaded else Recompute


class _FromBoth(_Policy):
    __slots__ = ()

    def __call__(self, primitive: Primitive, *avals: ShapedArray, **params: object) -> bool:
        decisions = [policy(primitive, *avals, **params) for policy in self.arguments]
        if not all([isinstance(decision, bool) for decision in decisions]):
            raise ValueError(
                "save_from_both_policies joins policies that return booleans, got "
                f"{decisions[0]!r} and {decisions[1]!r}; write one policy that decides what should win"
            )
        return any(decisions)


def _names_of(names: tuple[str, ...] | Iterable[str], function: str) -> frozenset[str]:
    names = (names,) if isinstance(names, str) else tuple(names)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{function} expects names, strings, got {name!r} of type {type(name).__name__}")
    return frozenset(names)


def save_only_these_names(*names: str) -> Policy:
    """Keep the values that `checkpoint_name` gave one of these names."""
    return _OnlyTheseNames(_names_of(names, "save_only_these_names"))


def save_any_names_but_these(*names: str) -> Policy:
    """Keep the values that have a name, but none of these."""
    return _AnyNamesButThese(_names_of(names, "save_any_names_but_these"))


def save_anything_except_these_names(*names: str) -> Policy:
    """Keep all but the values that have one of these names."""
    return _AnythingExceptTheseNames(_names_of(names, "save_anything_except_these_names"))


def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: Iterable[str],
    names_which_can_be_offloaded: Iterable[str],
    offload_src: str,
    offload_dst: str,
) -> Policy:
    """Keep the values of these names, some in the memory `offload_dst`; ValueError is raised for a name in both."""
    saved = _names_of(names_which_can_be_saved, "save_and_offload_only_these_names")
    offloaded = _names_of(names_which_can_be_offloaded, "save_and_offload_only_these_names")
    if saved & offloaded:
        raise ValueError(
            "save_and_offload_only_these_names: a name is either saved or offloaded, got "
            f"{sorted(saved & offloaded)} in both names_which_can_be_saved and names_which_can_be_offloaded"
        )
    return _NamesSavedOrOffloaded(saved, offloaded, offload_src, offload_dst)


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Keep what either policy keeps; both return booleans (ValueError is raised where one does not)."""
    return _FromBoth(policy_1, policy_2)


@class_boundary
class checkpoint_policies:  # noqa: N801 - a namespace
    """The policies that `tangrad.checkpoint` takes.

    >>> import tangrad
    >>> policy = tangrad.checkpoint_policies.dots_saveable
    >>> f = tangrad.checkpoint(lambda x: tangrad.numpy.sin(x @ x), policy=policy)
    >>> f(tangrad.numpy.eye(2)).shape
    (2, 2)
    """

    everything_saveable = staticmethod(everything_saveable)
    nothing_saveable = staticmethod(nothing_saveable)
    dots_saveable = staticmethod(dots_saveable)
    checkpoint_dots = staticmethod(dots_saveable)
    dots_with_no_batch_dims_saveable = staticmethod(dots_with_no_batch_dims_saveable)
    checkpoint_dots_with_no_batch_dims = staticmethod(dots_with_no_batch_dims_saveable)
    offload_dot_with_no_batch_dims = staticmethod(offload_dot_with_no_batch_dims)
    save_only_these_names = staticmethod(save_only_these_names)
    save_any_names_but_these = staticmethod(save_any_names_but_these)
    save_anything_except_these_names = staticmethod(save_anything_except_these_names)
    save_and_offload_only_these_names = staticmethod(save_and_offload_only_these_names)
    save_from_both_policies = staticmethod(save_from_both_policies)


def checkpoint_name(x: PyTree, name: str) -> PyTree:
    """The values of a tree, under a name that `checkpoint_policies` such as `save_only_these_names` go by.

    Args:
        x: a tree of arrays.
        name: the name, a string.

    Raises TypeError if the name is no string.

    >>> from tangrad.ad_checkpoint import checkpoint_name
    >>> float(checkpoint_name(2.0, "activations"))
    2.0
    """
    if not isinstance(name, str):
        raise TypeError(f"checkpoint_name: name must be a string, got {name!r} of type {type(name).__name__}")
    return tree.map(lambda leaf: name_p.bind(as_array(leaf), name=name), x)
