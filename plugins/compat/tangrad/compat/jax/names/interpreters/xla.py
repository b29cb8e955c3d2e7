"""`jax.interpreters.xla`: dtypes as they are computed with."""

from tangrad.dtypes import canonicalize_dtype as canonicalize_dtype
