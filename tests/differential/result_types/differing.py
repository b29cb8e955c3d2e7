"""Results that are of another type than JAX's, on purpose: a pattern of calls, a pattern of what is given here, and why.

The second pattern is looked for in the result or in the error.
"""

import re

DIFFERING = [
    (r"linalg|linalg\.|polyfit|roots|orthogonal|gaussian_kde|multivariate_normal|sqrtm|lax\.fft", r"raises TypeError: .*float16", "JAX refuses float16 and bfloat16 where it lowers"),
    (r"linalg\.solve(_triangular)?\(m, k\)", r"^float32", "as the line before: solved in the float of the integers"),
    (r"(solve|solve_triangular|polymul|polyadd|convolve|cross|union1d)\([mv], k\b", r"^float64\[[35]\]( weak)?$", "only whether it is weak where uint64 and int32 meet in a float"),
    (r"boxcox|owens_t|stats\.|Slerp|log1mexp", r"complex", "angles, quantiles and densities of complex numbers mean nothing"),
    (r"stats\.sem", r"^float(32|64)", "so does a complex standard error"),
    (r"arg(max|min)|segment_(max|min)|scatter_(max|min)|lax\.linalg\.[a-z]*\(", r"raises TypeError: .*complex", "complex numbers have no order"),
    (r"random\.(ball|double_sided_maxwell|generalized_normal)", r"^float(32|64)", "random numbers are drawn as floats, whatever the type of a parameter"),
    (r"special\.owens_t", r"^(b?float16|float32)", "the result has the type of the arguments"),
    (r"norm\.(isf|ppf)", r"^(bfloat16|float32)", "so has a quantile: a Python number takes the type of what is beside it"),
    (r"Slerp", r"^float(32|64)", "times are default floats, whose type meets that of the rotations"),
    (r"preferred_element_type", r"raises TypeError", "a result narrower than complex operands loses their imaginary parts"),
    (r"promote_types|can_cast", r"raises TypeError", "types are promoted, not arrays, whose promotion is result_type's"),
    (r"sph_harm_y", r"^complex64", "the angles say how exact it is; in JAX its own constants do"),
    (r"multigammaln", r"^float32", "a dimension is a Python number, which widens nothing"),
    (r"linalg\.pascal|np\.tri\(3\)", r"^float64", "numbers that are made of none are default floats"),
    (r"logaddexp2\.(reduce|accumulate)", r"^float32", "as `logaddexp2` of two elements"),
    (r"polyint", r"^float32", "what is integrated says how wide, not that there is no constant"),
    (r"sparse_plus", r"raises ValueError: .*complex", "complex numbers have no order"),
    (r"cumulative_prod", r"^u?int", "the array API asks for the default integer, as of cumulative_sum"),
    (r"vector_norm", r"^float", "the array API asks for floats"),
    (r"einsum_path", r"str", "the second is a text, as in NumPy"),
    (r"reduceat", r"^bool", "as in NumPy: what is given is the truth"),
    (r"lax\.dynamic_update_index_in_dim\(v, x", r"raises ValueError", "an update of three elements does not fit one index"),
    (r"lax\.fft\(v, 'irfft'", r"raises ValueError", "half a spectrum of three has two elements"),
    (r"lax\.conv_\w*shape_tuple", r"int(32|64)", "sizes are Python numbers"),
    (r"random_gamma_grad|cumlogsumexp|ragged_dot|polyval", r"raises TypeError", "operands of primitives have one type, of the kind that they compute with"),
    (r"qdwh", r"int32\[\]", "a number of steps that is counted is no Python number"),
    (r"np\.poly\(m\)", r"raises ValueError", "the polynomial of a matrix is that of its eigenvalues: numpy.linalg.eigvals"),
    (r"^2 \*\* x", r"^int(32|64)\[\] weak$", "a Python number to the power of one stays one"),
    (r"gumbel_r\.(log)?sf|logistic\.(log)?pdf|special\.loggamma", r"^(float(32|64)|complex(64|128))\[", "only whether it is weak: one formula here is several there"),
    (r"lax\.linalg\.(cholesky|eigh)", r"raises TypeError", "numpy.linalg's functions convert; primitives do not"),
]  # fmt: skip


def reason_for(call: str, got: str) -> str | None:
    """Why a call gives what it gives here, or None."""
    return next((why for pattern, here, why in DIFFERING if re.search(pattern, call) and re.search(here, got)), None)
