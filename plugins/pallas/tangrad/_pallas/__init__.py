"""tangrad-pallas: kernels in Python, in interpreted form."""
