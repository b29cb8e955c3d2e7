"""Fourier transforms, and what is built on them."""

from ..corpus import complex_normal, normal, program


@program(lambda r: (normal(r, 4, 6),), grad=(0,))
def spectra(api, x):
    """Power spectra of even and odd lengths, cut and filled up."""
    np = api.numpy
    lengths = 6, 5, 9, 1
    return tuple([np.abs(np.fft.rfft(x, n)) ** 2 for n in lengths] + [np.abs(np.fft.fft(x, axis=0, norm="ortho")) ** 2])


@program(lambda r: (complex_normal(r, 3, 5),), grad=(0,))
def back_from_halves(api, z):
    """Real results of transforms of arbitrary complex halves."""
    np = api.numpy
    whole = np.fft.irfft(z), np.fft.irfft(z, 9), np.fft.irfft2(z), np.fft.hfft(z, 7, axis=0, norm="forward")
    return tuple([np.sin(x) for x in whole])


@program(lambda r: (normal(r, 8), normal(r, 3)), grad=(0, 1))
def convolution_by_transforms(api, x, kernel):
    """The product of spectra, shifted in time."""
    np = api.numpy
    product = np.fft.rfft(x, 10) * np.fft.rfft(kernel, 10)
    return np.fft.irfft(product, 10), np.fft.irfft(product * np.exp(-2j * np.pi * np.fft.rfftfreq(10) * 0.5), 10)


@program(lambda r: (normal(r, 4, 6),), grad=(0,))
def diffusion(api, x):
    """The heat equation on a torus, by its Fourier coefficients."""
    np = api.numpy
    rows, columns = np.fft.fftfreq(4)[:, None], np.fft.rfftfreq(6)
    return np.fft.irfft2(np.fft.rfft2(x) * np.exp(-(rows**2 + columns**2)), x.shape), np.fft.fftshift(x)


@program(lambda r: (complex_normal(r, 2, 3, 4),), grad=(0,))
def several_dimensions(api, z):
    """There, elsewhere and back."""
    np = api.numpy
    there = np.fft.fftn(z, axes=(0, 2), norm="ortho")
    return np.sin(there), api.lax.fft(there, "IFFT", (2, 3, 4)), np.fft.ihfft(np.real(z), axis=1)
