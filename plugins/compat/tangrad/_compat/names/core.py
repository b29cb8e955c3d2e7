"""`jax.core`: types of values, tracers, jaxprs; as in earlier releases what is in `jax.extend.core`, too."""

from tangrad import ensure_compile_time_eval as ensure_compile_time_eval
from tangrad import typeof as get_aval
from tangrad._compat.names.extend.core import *
from tangrad._compat.types import ShapedArray as ShapedArray
from tangrad._compat.value_types import aval_rules as pytype_aval_mappings
from tangrad.core import AbstractValue as AbstractValue
from tangrad.core import Literal as _Literal
from tangrad.core import Trace as Trace
from tangrad.core import Tracer as Tracer
from tangrad.core import Var as _Var
from tangrad.core import eval_jaxpr as eval_jaxpr
from tangrad.core.arguments import max_size as max_dim
from tangrad.core.arguments import min_size as min_dim

Atom = _Var | _Literal
