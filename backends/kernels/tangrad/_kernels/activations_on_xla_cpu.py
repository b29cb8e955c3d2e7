"""Softmax in XLA's programs by its kernel. The family may not be installed, so its rules have a file of their own."""

from __future__ import annotations

from tangrad._kernels.jobs import softmax
from tangrad._kernels.on_xla_cpu import rule_set
from tangrad.extend.nn import softmax_p

activations = rule_set({softmax_p: softmax})
