"""`jax._src.earray`: arrays of extended types. There are none here: it is for `isinstance`."""


class EArray:
    """An array of an extended type."""

    def __new__(cls, *args: object, **options: object) -> "EArray":
        raise NotImplementedError(
            "Tangrad, of which 'jax' is an alias here (tangrad.compat.jax), has no arrays of extended types"
        )
