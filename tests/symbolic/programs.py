"""Functions of the tables of expressions as programs of symbolic sizes, and those that are none, with the reason."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy

import tangrad as api
import tangrad.numpy as np
from tangrad.core import ShapedArray
from tangrad.export import SymbolicScope, symbolic_shape
from tests.numpy import expressions
from tests.numpy.support import host_values

HOST = host_values()
# The sizes of the arrays in the tables, as variables, and two other sizes for each.
VARIABLES = {2: "a", 3: "b", 4: "c", 8: "d"}
CONSTRAINTS = ("a >= 2", "b >= 3", "c >= 4", "d >= 8")
SIZES = ({2: 2, 3: 3, 4: 4, 8: 8}, {2: 3, 3: 5, 4: 4, 8: 9})
NUMPY = [
    *expressions.ARRAYS,
    *expressions.UFUNCS_OTHERS,
    *expressions.UFUNCS_GENERATED,
    *expressions.OTHERS,
    *expressions.GENERATED,
    *expressions.FOURIER,
]

# Why a function is no program of symbolic sizes, whatever its arguments.
FIXED_NUMBER = "the number of its results, or of its steps, is a size"
FIXED_PLACES = "which elements it takes is decided from their positions as numbers"
ORDER_OF_SIZES = "which operand is the longer one decides what is computed"
LENGTHS = "StableHLO's fft has lengths that are numbers, and its expressions transform all axes"
HALVES = "it halves its operand until little is left: the number of steps is a size"
REASONS = {
    "np.fft.rfft2": LENGTHS,
    "np.fft.rfftn": LENGTHS,
    "lax.associative_scan(lax.add, g)": HALVES,
    "api.random.permutation(api.random.key(0), v)": FIXED_NUMBER,
    "np.polyint": FIXED_NUMBER,
    "np.unstack": FIXED_NUMBER,
    "np.polyval": FIXED_NUMBER,
    "np.poly": FIXED_NUMBER,
    "np.delete": FIXED_PLACES,
    "np.insert": FIXED_PLACES,
    "np.fill_diagonal": FIXED_PLACES,
    "np.tril_indices_from": FIXED_PLACES,
    "np.triu_indices_from": FIXED_PLACES,
    "np.diag_indices_from": FIXED_PLACES,
    "np.convolve": ORDER_OF_SIZES,
    "np.correlate": ORDER_OF_SIZES,
    "np.polysub": ORDER_OF_SIZES,
    "np.polymul": ORDER_OF_SIZES,
    "np.polydiv": ORDER_OF_SIZES,
    "np.polyder": FIXED_NUMBER,
}


def arrays_of(expression: str) -> list[str]:
    """The names of the arrays in an expression."""
    return [name for name in HOST if re.search(r"(?<![\w.'])" + name + r"(?![\w'(=])", expression)]


def function_of(expression: str) -> str | None:
    """The function that an expression is about, `np.sum`; None where it is about no single one."""
    match = re.match(r"(np(?:\.\w+)+)\(", expression)
    return match[1] if match else expression if expression in LAX else None


def program(expression: str, names: Sequence[str]) -> Callable[..., list[Any]]:
    """The expression as a function of the arrays in it, which returns the arrays of its value."""
    known = {"np": np, "numpy": numpy, "api": api, "lax": api.lax, "w": np.asarray(2.0), "W": np.asarray(3)}

    def run(*arrays: Any) -> list[Any]:
        value = eval(expression, {**known, **dict(zip(names, arrays, strict=True))})
        return [leaf for leaf in api.tree.leaves(value) if hasattr(leaf, "aval")]

    return run


def symbolic_types(names: Sequence[str]) -> list[Any]:
    """The types of arrays of the tables, with variables for sizes."""
    scope = SymbolicScope(CONSTRAINTS)
    return [
        ShapedArray(
            symbolic_shape(", ".join([VARIABLES.get(size, str(size)) for size in HOST[name].shape]), scope=scope),
            HOST[name].dtype,
        )
        for name in names
    ]


def arrays_at(names: Sequence[str], sizes: dict[int, int]) -> list[Any]:
    """The arrays of the tables, repeated or cut to other sizes."""
    return [
        numpy.resize(HOST[name], tuple([sizes.get(size, size) for size in HOST[name].shape])).astype(HOST[name].dtype)
        for name in names
    ]


def expressions_by_function() -> dict[str, list[str]]:
    """Function -> the expressions of the tables that are about it, have arrays, and give some."""
    found: dict[str, list[str]] = {}
    for expression in dict.fromkeys(NUMPY + LAX):
        names = arrays_of(expression)
        function = function_of(expression)
        if not names or function is None:
            continue
        try:
            jaxpr = api.make_jaxpr(program(expression, names))(*[HOST[name] for name in names])
        except Exception:  # it looks at its contents: no program of any sizes
            continue
        if jaxpr.out_avals:
            found.setdefault(function, []).append(expression)
    return found


# --- Expressions of `tangrad.lax` for the primitives that no function of `tangrad.numpy` in the tables reaches ---


LAX = [
    "lax.logistic(f)", "lax.rsqrt(p)", "lax.mulhi(i, i)", "lax.clz(i)", "lax.reduce_precision(f, 5, 10)", "lax.erf(f)", "lax.erfc(f)",
    "lax.erf_inv(p)", "lax.lgamma(p)", "lax.digamma(p)", "lax.bessel_i1e(f)", "lax.polygamma(p * 0 + 1, p)", "lax.zeta(p + 2, p)",
    "lax.igamma(p, p)", "lax.igammac(p, p)", "lax.igamma_grad_a(p, p)", "lax.random_gamma_grad(p, p)",
    "lax.betainc(p, p, p)", "lax.optimization_barrier(f)", "lax.reduce_xor(i, (0,))",
    "lax.reduce(f, 0.0, lambda x, y: x + y, (1,))", "lax.cummax(f, 0)", "lax.cummin(f, 1)", "lax.cumlogsumexp(f, 0)", "f.at[0].multiply(2.0)",
    "f.at[0].min(0.0)", "f.at[0].max(0.0)", "lax.top_k(v, 2)", "lax.reduce_window(f, 0.0, lambda x, y: x * y + y, (1, 2), (1, 1), 'VALID')",
    "lax.reduce_window(f, 0.0, lax.add, (1, 2), (1, 1), 'VALID')", "lax.reduce_window(f, -np.inf, lax.max, (1, 2), (1, 1), 'SAME')",
    "lax.reduce_window(f, np.inf, lax.min, (2, 1), (1, 1), 'VALID')",
    "lax.conv_general_dilated(f[:, None], np.ones((5, 1, 2)), (1,), 'VALID')",
    "lax.cond(f[0, 0] > 0, lambda x: x + 1, lambda x: x * 2, f)", "lax.while_loop(lambda x: x[0, 0] < 10, lambda x: x + 5, f)",
    "lax.fori_loop(0, f.shape[0], lambda k, x: x * 1.5 + k, f)", "lax.scan(lambda c, x: (c + x, c * x), g, f)",
    "lax.scan(lambda c, x: (c + x.sum(), c * x), 0.0, f, reverse=True, unroll=2)", "lax.map(lambda x: x.sum(), t)",
    "lax.associative_scan(lax.add, g)", "api.device_put(f)", "lax.linalg.cholesky(np.eye(3) + 0 * f[:, :1, None])",
    "lax.linalg.triangular_solve(np.eye(3) + 0 * f[:, :1, None], np.ones((3, 2)) + 0 * f[:, :1, None], left_side=True)",
    "api.grad(lambda x: np.sin(x).sum())(f)", "api.vmap(lambda x: x @ x)(f)", "api.jit(lambda x: x.mean(0))(f)",
    "api.grad(lambda x: lax.scan(lambda c, y: (c * np.cos(y), None), g, x)[0].sum())(f)", "api.vmap(lambda x: lax.cumsum(x, 0))(f)",
    "api.jvp(lambda x: np.sort(x, 1), (f,), (f,))[1]", "api.vmap(api.grad(lambda x: (x * x.mean()).sum()))(f)", "api.checkpoint(np.sin)(f)",
    "api.grad(lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 2), (1, 1), 'VALID').sum())(f)",
    "api.random.normal(api.random.key(0), f.shape)", "api.random.permutation(api.random.key(0), v)", "api.nn.softmax(f)",
    "api.nn.one_hot(k, f.shape[1])", "np.zeros((f.shape[0], 2 * f.shape[1]))", "np.full(f.shape, f.shape[0])", "np.arange(f.shape[1])",
    "np.reshape(t, (-1, t.shape[2]))", "np.reshape(t, (t.shape[0] * t.shape[1], -1))", "np.broadcast_to(g, (4, *g.shape))",
    "np.concatenate([f, f[:1]])", "f[:, ::-1]", "f[:, 1::2]", "f[-1]", "f[..., None] * f.shape[0]", "np.pad(f, ((1, 2), (0, 1)))",
    "np.linspace(0.0, 1.0, 5) * g.shape[0]", "np.split(np.concatenate([f, f]), 2)", "np.matvec(m, m[0])", "np.put_along_axis(f, f[:, :1].astype(int), 9.0, 1, inplace=False)",
    "np.hsplit(np.concatenate([f, f], 1), 2)", "np.dsplit(np.concatenate([t, t], 2), 2)", "np.array_split(np.concatenate([v, v]), 2)", "np.fft.ifftn(np.ones((g.shape[0], 4)), axes=(1,))", "np.fft.fft(f[:, :1] * np.ones(4))",
    "np.cross(f[:, :1] * np.ones(3), np.ones(3))",
]  # fmt: skip
