"""`jax.errors`: the classes that have other names here."""

from tangrad.errors import CallbackError as JaxRuntimeError
from tangrad.errors import NonConcreteBooleanIndexError as JAXIndexError
from tangrad.errors import TracerError as JAXTypeError

__all__ = ["JAXIndexError", "JAXTypeError", "JaxRuntimeError"]
