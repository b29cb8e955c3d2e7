# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.scipy.convolutions import convolve as convolve
from tangrad.scipy.convolutions import convolve2d as convolve2d
from tangrad.scipy.convolutions import correlate as correlate
from tangrad.scipy.convolutions import correlate2d as correlate2d
from tangrad.scipy.convolutions import fftconvolve as fftconvolve
from tangrad.scipy.spectra import csd as csd
from tangrad.scipy.spectra import detrend as detrend
from tangrad.scipy.spectra import istft as istft
from tangrad.scipy.spectra import stft as stft
from tangrad.scipy.spectra import welch as welch

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "detrend",
    "fftconvolve",
    "istft",
    "stft",
    "welch",
]
