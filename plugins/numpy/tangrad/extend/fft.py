"""What other distributions may use of tangrad-numpy's Fourier transforms, under the policy of the extension API."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._numpy.fft.axes": "fft fftn ifft ifftn irfft irfftn rfft rfftn",
        "tangrad._numpy.fft.transforms": "fftfreq rfftfreq",
        "tangrad._numpy.fft.primitives": "FftType fft_p is_empty",
    },
)
