"""The rooms of the kernel, each of which imports those before it alone; `tangrad.core` is the door to them."""

# `tree`, `settings`, `diagnostics`, `dtypes`, `composition`, `kernel`, in this order.
#
# The file is here so that Python finds the package in one folder: without it, it would look for parts of it in the
# folders of all distributions, which costs 0.8 ms of each start.
