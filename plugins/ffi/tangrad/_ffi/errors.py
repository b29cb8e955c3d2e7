"""The error of a foreign function."""

from __future__ import annotations

from tangrad.errors import TangradError


class FfiError(TangradError, RuntimeError):
    """A handler reported an error; the text is the name of its status code and its message.

    On the NumPy backend. On XLA the same text comes with the runtime's own error, a RuntimeError too.

    >>> import tangrad
    >>> issubclass(tangrad.ffi.FfiError, RuntimeError)
    True
    """
