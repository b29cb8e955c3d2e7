"""The derivatives of Fourier transforms: they are linear."""

from tangrad._fft.primitives import fft_p
from tangrad.autodiff import linear_jvp
from tangrad.core import RuleSet

jvp = RuleSet("jvp", api=1)

linear_jvp(jvp, fft_p)
