# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.scipy import cluster as cluster
from tangrad.scipy import fft as fft
from tangrad.scipy import integrate as integrate
from tangrad.scipy import interpolate as interpolate
from tangrad.scipy import linalg as linalg
from tangrad.scipy import ndimage as ndimage
from tangrad.scipy import optimize as optimize
from tangrad.scipy import signal as signal
from tangrad.scipy import sparse as sparse
from tangrad.scipy import spatial as spatial
from tangrad.scipy import special as special
from tangrad.scipy import stats as stats

__all__ = [
    "cluster",
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
]
