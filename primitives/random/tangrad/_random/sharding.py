"""How keys and bits are sharded: as the keys that they are made of; what is drawn from one key is not sharded."""

from __future__ import annotations

from tangrad._random.ciphers import random_unwrap_p, random_wrap_p, threefry2x32_p
from tangrad._random.distributions.gamma import random_gamma_p
from tangrad._random.primitives import random_bits_p, random_fold_in_p, random_seed_p, random_split_p
from tangrad.core import RuleSet, ShapedArray
from tangrad.extend.sharding import Axes, Operand, joined, positionwise, uncut_along
from tangrad.typing import Params

sharding = RuleSet("sharding", api=1)
positionwise(sharding, threefry2x32_p, random_seed_p, random_fold_in_p)


@sharding.rule(random_split_p, random_bits_p, random_unwrap_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """Dimensions come after those of the keys."""
    axes = operands[0].axes
    return ((*axes, *[()] * (results[0].ndim - len(axes))),)


@sharding.rule(random_wrap_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """The words of each key must be in one place."""
    rank = results[0].ndim
    uncut_along(operands[0], range(rank, len(operands[0].axes)), "a key")
    return (operands[0].axes[:rank],)


@sharding.rule(random_gamma_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """Each number is drawn from its own parameter; the decomposition, which has them in a row, could not know which."""
    keys, parameter = [operand.axes for operand in operands]
    return (joined([parameter, (*keys, *[()] * (len(parameter) - len(keys)))]),)
