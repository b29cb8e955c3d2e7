# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.fft.along_many import fft2 as fft2
from tangrad.fft.along_many import fftn as fftn
from tangrad.fft.along_many import ifft2 as ifft2
from tangrad.fft.along_many import ifftn as ifftn
from tangrad.fft.along_many import irfft2 as irfft2
from tangrad.fft.along_many import irfftn as irfftn
from tangrad.fft.along_many import rfft2 as rfft2
from tangrad.fft.along_many import rfftn as rfftn
from tangrad.fft.along_one import fft as fft
from tangrad.fft.along_one import hfft as hfft
from tangrad.fft.along_one import ifft as ifft
from tangrad.fft.along_one import ihfft as ihfft
from tangrad.fft.along_one import irfft as irfft
from tangrad.fft.along_one import rfft as rfft
from tangrad.fft.frequencies import fftfreq as fftfreq
from tangrad.fft.frequencies import fftshift as fftshift
from tangrad.fft.frequencies import ifftshift as ifftshift
from tangrad.fft.frequencies import rfftfreq as rfftfreq

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
