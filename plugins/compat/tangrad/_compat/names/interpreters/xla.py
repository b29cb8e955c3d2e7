"""`jax.interpreters.xla`: dtypes as they are computed with, and tables by class of values."""

from tangrad._compat.primitives import apply_primitive as apply_primitive
from tangrad._compat.value_types import aval_rules as pytype_aval_mappings
from tangrad._compat.value_types import conversions as canonicalize_dtype_handlers
from tangrad.dtypes import canonicalize_dtype as canonicalize_dtype

__all__ = ["apply_primitive", "canonicalize_dtype", "canonicalize_dtype_handlers", "pytype_aval_mappings"]
