"""Sound interval bounds of programs: `bounds(f)(lows, highs)`."""

from tangrad_intervals.transformation import bounds

__all__ = ["bounds"]
