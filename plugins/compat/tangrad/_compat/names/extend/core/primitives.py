"""`jax.extend.core.primitives`: primitives by their names in jax. Those that are not there occur in no program."""
