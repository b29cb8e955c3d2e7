"""Automatic differentiation: the traces and rule kinds behind `tangrad.grad`, and helpers for rule files."""

from tangrad.autodiff.forward import jvp_flat as jvp_flat
from tangrad.autodiff.forward import jvp_jaxpr as jvp_jaxpr
from tangrad.autodiff.jvp_rules import elementwise_jvp as elementwise_jvp
from tangrad.autodiff.jvp_rules import linear_jvp as linear_jvp
from tangrad.autodiff.jvp_rules import multilinear_jvp as multilinear_jvp
from tangrad.autodiff.jvp_rules import symbolic_zeros as symbolic_zeros
from tangrad.autodiff.jvp_rules import zero_jvp as zero_jvp
from tangrad.autodiff.programs import is_marked_linear as is_marked_linear
from tangrad.autodiff.programs import linearize_jaxpr as linearize_jaxpr
from tangrad.autodiff.programs import mark_linear as mark_linear
from tangrad.autodiff.programs import partial_eval_jaxpr as partial_eval_jaxpr
from tangrad.autodiff.programs import transpose_jaxpr as transpose_jaxpr
from tangrad.autodiff.tape import Linearized as Linearized
from tangrad.autodiff.tape import PartialEval as PartialEval
from tangrad.autodiff.tape import linearize_flat as linearize_flat
from tangrad.autodiff.tape import transpose_flat as transpose_flat
from tangrad.autodiff.transpose_rules import Linear as Linear
from tangrad.autodiff.transpose_rules import is_linear as is_linear
from tangrad.autodiff.transpose_rules import linear_transpose_rule as linear_transpose_rule
from tangrad.autodiff.zeros import Zero as Zero
from tangrad.autodiff.zeros import add_tangents as add_tangents
from tangrad.autodiff.zeros import instantiate as instantiate
from tangrad.autodiff.zeros import tangent_aval as tangent_aval
from tangrad.autodiff.zeros import unbroadcast as unbroadcast
from tangrad.autodiff.zeros import zeros as zeros
