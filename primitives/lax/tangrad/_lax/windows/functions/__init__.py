"""The public functions of the family: `convolution.py`, `patches.py`, `reduction.py`."""
