"""`jax.experimental`: what Tangrad has elsewhere by now."""

from tangrad import enable_x64 as enable_x64
