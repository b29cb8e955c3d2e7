"""The rules of the elementwise primitives where all but one act element by element.

The one is `bitcast_convert_type`: a change of width adds or consumes the last dimension. What may fail is in
`tangrad._lax.checkify`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._lax.elementwise import primitives as p
from tangrad._lax.elementwise.primitives import bitcast_convert_type_p, elementwise
from tangrad.core import RuleSet, ShapedArray
from tangrad.typing import Params

if TYPE_CHECKING:
    from tangrad.extend.sharding import Axes, Operand

_ALL_BUT_ONE = [primitive for primitive in elementwise.primitives.values() if primitive is not bitcast_convert_type_p]

batch = RuleSet("batch", api=1)
batch.form("elementwise", *_ALL_BUT_ONE)
batch.form("front", bitcast_convert_type_p)  # so that the last dimension is not the mapped one

mask = RuleSet("mask", api=1)
mask.form("positionwise", *_ALL_BUT_ONE)
mask.form("whole", bitcast_convert_type_p)

sharding = RuleSet("sharding", api=1)
_LINEAR = (p.add_p, p.sub_p, p.neg_p, p.real_p, p.imag_p, p.conj_p, p.complex_p, p.convert_element_type_p)
sharding.form("linear", *_LINEAR)
sharding.form("product", p.mul_p)
sharding.form("quotient", p.div_p)
sharding.form("linear of cases", p.select_n_p)
_OTHERS = [primitive for primitive in _ALL_BUT_ONE if primitive not in (*_LINEAR, p.mul_p, p.div_p, p.select_n_p)]
sharding.form("positionwise", *_OTHERS)


@sharding.rule(bitcast_convert_type_p)
def _(operands: tuple[Operand, ...], results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """A last dimension of parts of numbers is whole in the memory of one device."""
    rank = results[0].ndim
    return ((*operands[0].axes, ())[:rank],)
