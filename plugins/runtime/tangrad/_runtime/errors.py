"""What is wrong with a saved program, or with one that is to be saved."""

from __future__ import annotations


class ArtifactError(ValueError):
    """A program cannot be saved, or a file holds no program that can be run here. The message says why.

    Nothing of a refused file is kept, and none of it has been run.

    >>> from tangrad import runtime
    >>> runtime.load(b"no program")
    Traceback (most recent call last):
        ...
    tangrad._runtime.errors.ArtifactError: not a saved program: the file has 10 bytes, its header alone takes 32
    """


def of_type(value: object) -> str:
    """A value and its type, for messages, cut where it is long."""
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} of type {type(value).__name__}"
