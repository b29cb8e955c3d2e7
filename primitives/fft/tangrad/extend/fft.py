"""What other distributions may use of tangrad-fft, under the policy of the extension API."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._fft.along_many": "fftn ifftn irfftn rfftn",
        "tangrad._fft.along_one": "fft ifft irfft rfft",
        "tangrad._fft.frequencies": "fftfreq rfftfreq",
        "tangrad._fft.primitives": "FftType fft_p is_empty",
    },
)
