# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._fft.along_many import (
    fftn as fftn,
    ifftn as ifftn,
    irfftn as irfftn,
    rfftn as rfftn,
)
from tangrad._fft.along_one import (
    fft as fft,
    ifft as ifft,
    irfft as irfft,
    rfft as rfft,
)
from tangrad._fft.frequencies import (
    fftfreq as fftfreq,
    rfftfreq as rfftfreq,
)
from tangrad._fft.primitives import (
    FftType as FftType,
    fft_p as fft_p,
    is_empty as is_empty,
)

__all__ = [
    "FftType",
    "fft",
    "fft_p",
    "fftfreq",
    "fftn",
    "ifft",
    "ifftn",
    "irfft",
    "irfftn",
    "is_empty",
    "rfft",
    "rfftfreq",
    "rfftn",
]
