"""Which algorithm decomposes a matrix, for those who choose: the names that there are, and those that LAPACK has."""

from __future__ import annotations

import enum
from typing import Any

from tangrad.core.caches import exact_equality


@exact_equality
class SvdAlgorithm(enum.Enum):
    """Ways to a singular value decomposition: on CPUs all but JACOBI and POLAR, which come to the same.

    >>> import numpy as np
    >>> import tangrad
    >>> x = np.array([[2.0, 0.0], [0.0, 1.0]])
    >>> tangrad.lax.linalg.svd(x, compute_uv=False, algorithm=tangrad.lax.linalg.SvdAlgorithm.QR)
    Array([2., 1.], dtype=float32)
    """

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


@exact_equality
class EighImplementation(enum.Enum):
    """Ways to the eigenvalues of Hermitian matrices: on CPUs there is QR.

    >>> import tangrad
    >>> tangrad.lax.linalg.EighImplementation("qr")
    <EighImplementation.QR: 'qr'>
    """

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


@exact_equality
class EigImplementation(enum.Enum):
    """Libraries for the eigenvalues of other matrices: on CPUs there is LAPACK.

    >>> import tangrad
    >>> tangrad.lax.linalg.EigImplementation("lapack")
    <EigImplementation.LAPACK: 'lapack'>
    """

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


_OF_LAPACK: dict[type[enum.Enum], tuple[enum.Enum, ...]] = {
    SvdAlgorithm: (SvdAlgorithm.DEFAULT, SvdAlgorithm.QR, SvdAlgorithm.DIVIDE_AND_CONQUER),
    EighImplementation: (EighImplementation.QR,),
    EigImplementation: (EigImplementation.LAPACK,),
}


def check_algorithm(name: str, argument: str, kind: type[enum.Enum], value: Any) -> None:
    """Raise TypeError for what is no algorithm, NotImplementedError for one that is not there; None is the usual."""
    if value is None:
        return
    if not isinstance(value, kind):
        raise TypeError(f"{name}: {argument} must be a lax.linalg.{kind.__name__} or None, got {value!r}")
    available = _OF_LAPACK[kind]
    if value not in available:
        names = ", ".join([item.name for item in available])
        raise NotImplementedError(f"{name}: {argument} {value.name} is not there; there are: {names}")
