"""Linear algebra, Fourier transforms, sorting, running totals: whose libraries are called, and what is around them."""

from collections.abc import Callable
from typing import Any

import numpy

from ..measure import Case
from ..sides import Side
from . import models

Work = Callable[..., Any]
MANY = 1_000_000


def matrices(*shape: int) -> numpy.ndarray:
    """Float32 matrices that are regular and positive definite enough for every decomposition."""
    x = models.draws(0).normal(size=shape).astype("float32")
    return x @ x.swapaxes(-1, -2) / shape[-1] + numpy.eye(shape[-1], dtype="float32")


DECOMPOSITIONS: dict[str, Work] = {
    "cholesky": lambda api, x: api.numpy.linalg.cholesky(x),
    "solve": lambda api, x: api.numpy.linalg.solve(x, x),
    "inv": lambda api, x: api.numpy.linalg.inv(x),
    "det": lambda api, x: api.numpy.linalg.det(x),
    "qr": lambda api, x: api.numpy.linalg.qr(x),
    "svd": lambda api, x: api.numpy.linalg.svd(x),
    "eigh": lambda api, x: api.numpy.linalg.eigh(x),
    "eigvals": lambda api, x: api.numpy.linalg.eigvals(x),
}
SIZES = {"8": (8, 8), "64": (64, 64), "256": (256, 256), "500 of 8": (500, 8, 8)}

SIGNAL = models.draws(1).normal(size=1 << 16).astype("float32")
TRANSFORMS: dict[str, tuple[Work, numpy.ndarray]] = {
    "fft of 1,024": (lambda api, x: api.numpy.fft.fft(x), SIGNAL[:1024] + 0j),
    "fft of 64 x 1,024": (lambda api, x: api.numpy.fft.fft(x), SIGNAL.reshape(64, 1024) + 0j),
    "rfft of 65,536": (lambda api, x: api.numpy.fft.rfft(x), SIGNAL),
    "fft2 of 256 x 256": (lambda api, x: api.numpy.fft.fft2(x), SIGNAL.reshape(256, 256) + 0j),
    "irfft of 32,769": (lambda api, x: api.numpy.fft.irfft(x), SIGNAL[:32769] + 0j),
}

# On a million elements.
ORDERS: dict[str, Work] = {
    "sort": lambda api, x: api.numpy.sort(x),
    "argsort": lambda api, x: api.numpy.argsort(x),
    "top_k 10": lambda api, x: api.lax.top_k(x, 10),
    "top_k 1,000": lambda api, x: api.lax.top_k(x, 1000),
    "cumsum": lambda api, x: api.numpy.cumsum(x),
    "cumprod": lambda api, x: api.numpy.cumprod(x),
    "cummax": lambda api, x: api.lax.cummax(x),
}


def numerical_case(work: Work, contents: numpy.ndarray, side: Side) -> Case:
    """Calls of the compiled program, or on NumPy of the function itself, each waited for."""
    api = side.api()
    if side.module == "numpy":
        return Case(lambda: work(api, contents))
    x = api.numpy.asarray(contents)
    jitted, wait = api.jit(lambda x: work(api, x)), api.block_until_ready
    return Case(lambda: wait(jitted(x)), hlo=lambda: jitted.lower(x).compile().as_text())


def _named() -> dict[str, tuple[Work, numpy.ndarray]]:
    found = {
        f"linear algebra: {name} of {size}": (work, matrices(*shape))
        for name, work in DECOMPOSITIONS.items()
        for size, shape in SIZES.items()
    }
    found |= {f"fourier: {name}": row for name, row in TRANSFORMS.items()}
    values = models.draws(2).normal(size=MANY).astype("float32")
    return found | {f"a million: {name}": (work, values) for name, work in ORDERS.items()}


WORK = _named()
PROGRAMS = {name: lambda side, row=row: numerical_case(*row, side) for name, row in WORK.items()}
