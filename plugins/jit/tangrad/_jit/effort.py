"""How much effort the backend's compiler spends: the setting, and the argument of `jit`."""

from __future__ import annotations

from tangrad.core.settings import define_choice, one_of

DEFAULT_EFFORT = "full"
CHOICES = (DEFAULT_EFFORT, "fast")
compile_effort = define_choice(
    "compile_effort",
    DEFAULT_EFFORT,
    CHOICES,
    "How much effort the compiler spends: 'full', or 'fast', for first tries: compiled sooner, and slower.",
)
_check = one_of(*CHOICES)


def chosen_effort(value: str | None) -> str | None:
    """The argument `compile_effort` of `jit`. Raises TypeError or ValueError, with the choices, for other values."""
    try:
        return None if value is None else str(_check(value))
    except (TypeError, ValueError) as error:
        raise type(error)(f"jit: compile_effort: {error}, got {value!r}") from None
