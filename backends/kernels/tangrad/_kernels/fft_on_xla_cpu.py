"""Fourier transforms in XLA's programs by oneMKL. The family may not be installed, so it has a file of its own."""

from __future__ import annotations

from tangrad._kernels.on_xla_cpu import rule_set
from tangrad._kernels.vendor_jobs import fft
from tangrad.extend.fft import fft_p

transforms = rule_set({fft_p: fft})
