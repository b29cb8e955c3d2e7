"""Expressions of `numpy.fft` and `lax.fft`."""

EXPRESSIONS = [
    "np.fft.fft(v)", "np.fft.fft(f, axis=0)", "np.fft.fft(c)", "np.fft.fft(t, 5, -2, 'ortho')", "np.fft.fft(m, n=2)", "np.fft.fft(h)",
    "np.fft.fft(i)", "np.fft.fft(b)", "np.fft.fft(o)", "np.fft.fft(o, axis=0)", "np.fft.fft(v.astype('bfloat16'))", "np.fft.ifft(v, norm='forward')",
    "np.fft.ifft(c, 7)", "np.fft.ifft(t, axis=1)", "np.fft.rfft(v)", "np.fft.rfft(y[1:6:2], norm='backward')", "np.fft.rfft(n)",
    "np.fft.rfft(t, 7, 0, 'ortho')", "np.fft.rfft(m, 1)", "np.fft.irfft(c)", "np.fft.irfft(c, 5)", "np.fft.irfft(c, n=1)",
    "np.fft.irfft(t, axis=1, norm='forward')", "np.fft.irfft(i, 9, norm='ortho')", "np.fft.hfft(c)", "np.fft.hfft(c, 7, norm='ortho')",
    "np.fft.hfft(t, axis=-2, norm='forward')", "np.fft.ihfft(v)", "np.fft.ihfft(v, 5, norm='forward')", "np.fft.ihfft(t, axis=0, norm='ortho')",
    "np.fft.fft2(m)", "np.fft.fft2(t, (3, 2), (0, 1), 'ortho')", "np.fft.ifft2(m)", "np.fft.ifft2(t, s=[2, 5])", "np.fft.rfft2(m)",
    "np.fft.rfft2(t, axes=(2, 0))", "np.fft.irfft2(m)", "np.fft.irfft2(t, s=(3, 5), norm='forward')", "np.fft.fftn(t)", "np.fft.fftn(t, (2, 3))",
    "np.fft.fftn(t, axes=[-1, 0])", "np.fft.fftn(w)", "np.fft.fftn(t, axes=())", "np.fft.ifftn(t, norm='ortho')", "np.fft.rfftn(t)",
    "np.fft.rfftn(t, axes=(0,))", "np.fft.rfftn(f[None, None, :, None])", "np.fft.irfftn(t)", "np.fft.irfftn(t + 0.5j, axes=(2, 1))",
    "np.fft.irfftn(t, (2, 2, 7))", "np.fft.fftfreq(8)", "np.fft.fftfreq(5, 0.5)", "np.fft.fftfreq(4, d=w)", "np.fft.fftfreq(0)", "np.fft.fftfreq(1)",
    "np.fft.fftfreq(4, dtype='float16')", "np.fft.fftfreq(4, dtype='complex64')", "np.fft.rfftfreq(8)", "np.fft.rfftfreq(5, 2)", "np.fft.rfftfreq(1)",
    "np.fft.fftshift(g)", "np.fft.fftshift(t)", "np.fft.fftshift(m, 1)", "np.fft.fftshift(t, (0, -1))", "np.fft.ifftshift(t)", "np.fft.ifftshift(n, axes=0)",
    "np.fft.ifftshift(w)", "api.lax.fft(c, 'FFT', (3,))", "api.lax.fft(m, 'rfft', (3, 4))", "api.lax.fft(c, api.lax.FftType.IRFFT, (5,))",
    "api.lax.fft(t, api.lax.FftType.IFFT, (4,))", "api.lax.fft(j, 'RFFT', (3,))", "api.lax.fft(f, 'FFT', ())",
]  # fmt: skip
