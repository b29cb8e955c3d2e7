"""`jax.experimental`: what Tangrad has elsewhere by now."""

from tangrad import enable_x64 as enable_x64


class MutableArray:
    """An array that is changed in place. Tangrad has none: it is there for `isinstance`."""

    def __new__(cls, *args: object, **options: object) -> "MutableArray":
        raise NotImplementedError(
            "Tangrad, of which 'jax' is an alias here (tangrad.compat.jax), has no mutable arrays"
        )
