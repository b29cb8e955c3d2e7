"""`jax.extend.backend`: backends as objects."""

from tangrad.core import get_backend as get_backend
from tangrad.core.backends import loaded_backends as backends
