"""A backend on PyTorch: `TANGRAD_BACKEND=torch`. Tensors become arrays and arrays tensors without a copy."""

from tangrad_torch.backend import from_torch as from_torch
from tangrad_torch.backend import to_torch as to_torch
