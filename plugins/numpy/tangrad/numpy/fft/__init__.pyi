# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._fft.along_many import (
    fft2 as fft2,
    fftn as fftn,
    ifft2 as ifft2,
    ifftn as ifftn,
    irfft2 as irfft2,
    irfftn as irfftn,
    rfft2 as rfft2,
    rfftn as rfftn,
)
from tangrad._fft.along_one import (
    fft as fft,
    hfft as hfft,
    ifft as ifft,
    ihfft as ihfft,
    irfft as irfft,
    rfft as rfft,
)
from tangrad._fft.frequencies import (
    fftfreq as fftfreq,
    fftshift as fftshift,
    ifftshift as ifftshift,
    rfftfreq as rfftfreq,
)

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]
