"""`jax.extend.ifrt_programs`: programs of a runtime that Tangrad does not use; the namespace is there, and empty."""

from types import SimpleNamespace

ifrt_programs = SimpleNamespace()
