"""`jax._src.pjit`: what sharded functions are made of: `jit`, and functions of shardings."""

from tangrad._compat.primitive_names import primitive_called

jit_p = primitive_called(__name__, "jit_p")
