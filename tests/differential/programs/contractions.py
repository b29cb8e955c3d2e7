"""Products of vectors, matrices and tensors."""

from ..corpus import integers, normal, program


@program(lambda r: (normal(r, 4), normal(r, 4), normal(r, 3, 4), normal(r, 2, 4, 5)), grad=(0, 1, 2, 3))
def dots(api, u, v, m, t):
    """dot by rank."""
    np = api.numpy
    return np.dot(u, v), np.dot(m, v), np.dot(m, t), u @ v, m @ u, np.vdot(u, v), np.inner(m, v), np.outer(u, m[0])


@program(lambda r: (normal(r, 2, 1, 3, 4), normal(r, 5, 4, 2), normal(r, 4)), grad=(0, 1, 2))
def batched_matmul(api, x, y, v):
    """matmul broadcasts leading axes."""
    return x @ y, api.numpy.matmul(x, v), api.numpy.matmul(v, y)


@program(lambda r: (normal(r, 3, 4), normal(r, 4, 5), normal(r, 2, 3, 4), normal(r, 3, 3)), grad=(0, 1, 2, 3))
def einsums(api, a, b, t, s):
    """Contractions, transposes, diagonals, traces, several operands."""
    einsum = api.numpy.einsum
    pairs = einsum("ij,jk->ik", a, b), einsum("bij,jk->bki", t, b), einsum("ij,jk", a, b), einsum("bij,bij->b", t, t)
    return pairs, einsum("ii->", s), einsum("ii->i", s), einsum("ij->ji", a), einsum("bij,jk,ki->b", t, b, b.T @ a.T)


@program(lambda r: (normal(r, 2, 3, 4), normal(r, 3, 4, 5)), grad=(0, 1))
def tensor_products(api, x, y):
    """tensordot with a count and with axes."""
    np = api.numpy
    return np.tensordot(x, y, 2), np.tensordot(x, y, axes=((1, 2), (0, 1))), np.tensordot(x[0], y[:, 0], ([0], [0]))


@program(lambda r: (normal(r, 2, 3, 4), normal(r, 2, 5, 4)), grad=(0, 1))
def general_dot(api, x, y):
    """dot_general with batch dimensions."""
    dot_general = api.lax.dot_general
    return dot_general(x, y, (((2,), (2,)), ((0,), (0,)))), dot_general(x[0], y, (((1,), (2,)), ((), ())))


@program(lambda r: (integers(r, -99, 99, 3, 4, dtype="int8"), integers(r, -99, 99, 4, 2, dtype="int8")))
def integer_products(api, x, y):
    """Integers wrap unless a wider result is asked for."""
    wide = api.lax.dot_general(x, y, (((1,), (0,)), ((), ())), preferred_element_type=api.numpy.int32)
    return wide, x @ y, x.astype(api.numpy.int32) @ y.astype(api.numpy.int32)


@program(lambda r: (normal(r, 3, 4), normal(r, 3), normal(r, 4)), grad=(0, 1, 2))
def bilinear_form(api, m, x, y):
    """A quadratic form and its normalisation."""
    value = x @ m @ y
    return value / api.numpy.sqrt(1.0 + api.numpy.sum(m**2)), api.numpy.einsum("i,ij,j->", x, m, y)


@program(lambda r: (normal(r, 3, 4).astype("float16"), normal(r, 4, 2)), grad=(0, 1))
def mixed_precision_product(api, x, y):
    """Operands of different widths are promoted."""
    return x @ y, api.numpy.dot(x, x.T)


@program(lambda r: (normal(r, 4, 4),), grad=(0,), slack=4.0)
def matrix_powers(api, m):
    """A truncated exponential series."""
    term = total = api.numpy.eye(4)
    for order in range(1, 6):
        term = term @ m / order
        total = total + term
    return total
