"""Functions with derivatives of their own: the decorators, what they are called with, and what rules with
`symbolic_zeros` get and give.
"""

from tangrad._custom_rules.forward import custom_jvp as custom_jvp
from tangrad._custom_rules.gradients import closure_convert as closure_convert
from tangrad._custom_rules.gradients import custom_gradient as custom_gradient
from tangrad._custom_rules.linear import custom_transpose as custom_transpose
from tangrad._custom_rules.linear import linear_call as linear_call
from tangrad._custom_rules.reverse import CustomVJPPrimal as CustomVJPPrimal
from tangrad._custom_rules.reverse import custom_vjp as custom_vjp
from tangrad._custom_rules.reverse import custom_vjp_primal_tree_values as custom_vjp_primal_tree_values
from tangrad._custom_rules.zeros import SymbolicZero as SymbolicZero
from tangrad._custom_rules.zeros import zero_from_primal as zero_from_primal
