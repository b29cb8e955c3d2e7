"""`jax._src.ad_util`: symbolic zeros, and the primitive that stops gradients."""

from tangrad._compat.primitive_names import primitive_called
from tangrad.autodiff import Zero as Zero
from tangrad.autodiff import instantiate as instantiate

stop_gradient_p = primitive_called(__name__, "stop_gradient_p")
