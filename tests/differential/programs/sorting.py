"""Sorting and what is built on it."""

from ..corpus import integers, normal, program


@program(lambda r: (normal(r, 4, 5),), grad=(0,))
def sorting(api, x):
    """sort along axes, and in descending order."""
    np = api.numpy
    return np.sort(x), np.sort(x, axis=0), -np.sort(-x, axis=1), np.sort(x, axis=None)


@program(lambda r: (integers(r, 0, 4, 3, 8),))
def stable_argsort(api, k):
    """Equal keys keep their order."""
    np = api.numpy
    return np.argsort(k), np.argsort(k, axis=0), np.argsort(k, descending=True)


@program(lambda r: (integers(r, 0, 3, 9), normal(r, 9), normal(r, 9)), grad=(1, 2))
def sort_by_two_keys(api, k, x, y):
    """lax.sort with several operands."""
    return api.lax.sort((k, x, y), num_keys=2), api.lax.sort((k, y), num_keys=1)


@program(lambda r: (normal(r, 3, 7),), grad=(0,))
def largest_of_each_row(api, x):
    """top_k's values and positions."""
    return api.lax.top_k(x, 3)


@program(lambda r: (normal(r, 9), normal(r, 9)), grad=(0, 1))
def rank_statistics(api, x, y):
    """A median and a matching of order statistics by sorting."""
    np = api.numpy
    order = np.argsort(x)
    return np.sort(x)[4], y[order] * np.sort(x), np.argsort(order)
