"""What backends may do otherwise than each other at the edges of dtypes, each with the reason why."""

from __future__ import annotations

from fnmatch import fnmatchcase

ZEROS, SIZE, FINITE, LEFT_OUT = "zeros", "size", "finite", "left out"

ORDER = "sums and products in another order overflow elsewhere, and what cancels is rounded otherwise"
EQUAL = "of two zeros that compare equal either may be taken as the greater one"
STARTS = "whether a sum starts at its first element, or at +0, decides on the sign of a sum of zeros"
ALGORITHM = "by another algorithm: zeros, and what is beyond overflow, come out of other steps"
SINGULAR = "of a singular matrix, or of the right sides of zeros, what comes out is as the roundings fall"
DOMAIN = "outside of its domain, or at infinity, a series has no meaning, and backends have different ones"
UNDEFINED = "the operand breaks what the primitive demands: results are not defined"
SAMPLERS = "a sampler that rejects would try for ever"
FILLED = "zeros that are filled in between numbers may be multiplied with a kernel that is not finite, or left out"
ROOTS = "near a root that is no number of the dtype, what is left is as small as the rounding of the terms"
ANNEX = "of complex infinities and NaN, and signs on branch cuts, C99's Annex G is not followed by every backend"

# (primitives, themes, what may differ, why); names are matched as file names are.
TABLE: tuple[tuple[str, str, str, str], ...] = (
    *[
        (f"elementwise.{name}", "*complex*", FINITE, ANNEX)
        for name in (
            *(
                "exp",
                "exp2",
                "log",
                "log2",
                "log10",
                "expm1",
                "log1p",
                "logistic",
                "sqrt",
                "rsqrt",
                "sin",
                "cos",
                "tan",
                "asin",
                "acos",
            ),
            *("atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sign", "abs", "integer_pow", "div"),
            *("max", "min"),
        )
    ],
    ("elementwise.pow", "*complex*", LEFT_OUT, ANNEX),
    ("elementwise.sinh", "*complex*", SIZE, "XLA subtracts exponentials, whose difference has no digits left near 0"),
    ("reductions.reduce_m*", "NaN*", LEFT_OUT, "a complex number with a part that is NaN has no place in an order"),
    ("special.lgamma", "*", SIZE, ROOTS),
    ("special.digamma", "*", SIZE, ROOTS),
    ("elementwise.max", "*", ZEROS, EQUAL),
    ("elementwise.min", "*", ZEROS, EQUAL),
    ("elementwise.clamp", "*", ZEROS, EQUAL),
    ("activations.relu*", "*", ZEROS, EQUAL),
    ("*.reduce_m*", "*", ZEROS, EQUAL),
    ("collectives.pm*", "*", ZEROS, EQUAL),
    ("*.cumm*", "*", ZEROS, EQUAL),
    ("windows.*", "*", ZEROS, STARTS),
    ("*sum*", "*", ZEROS, STARTS),
    *[(names, "huge*", LEFT_OUT, ORDER) for names in ("*sum", "*sum_*")],
    ("reductions.*", "*", SIZE, ORDER),
    ("windows.*", "*", SIZE, ORDER),
    ("contractions.*", "*", ZEROS, STARTS),
    ("contractions.*", "*", SIZE, ORDER),
    ("contractions.*", "huge*", LEFT_OUT, ORDER),
    ("contractions.ragged*", "extremes*", LEFT_OUT, UNDEFINED),
    ("contractions.ragged*", "all *", LEFT_OUT, UNDEFINED),
    ("contractions.ragged*", "outside*", LEFT_OUT, UNDEFINED),
    ("contractions.ragged*", "ties in operand 2", LEFT_OUT, UNDEFINED),
    ("windows.*", "huge*", LEFT_OUT, ORDER),
    ("windows.conv*", "*infinity*", LEFT_OUT, FILLED),
    ("windows.conv*", "NaN*", LEFT_OUT, FILLED),
    ("indexing.scatter_mul", "ties*", LEFT_OUT, UNDEFINED),
    ("sorting.search_sorted", "*in operand 0", LEFT_OUT, UNDEFINED),
    *[
        (family, theme, what, ALGORITHM)
        for family in ("linalg.*", "decompositions.*", "systems.*", "fft.*", "solves.*", "activations.softmax")
        for theme, what in (
            ("*", ZEROS),
            ("*", SIZE),
            ("huge*", LEFT_OUT),
            ("*infinity*", LEFT_OUT),
            ("NaN*", LEFT_OUT),
        )
    ],
    *[
        (family, f"{theme} in operand {position}", LEFT_OUT, SINGULAR)
        for family in ("linalg.*", "decompositions.*", "systems.*", "solves.*")
        for theme in ("zeros", "minus zeros", "ties")
        for position in (0, 1)
    ],
    *[("decompositions.lu_pivots*", f"{theme}*", LEFT_OUT, UNDEFINED) for theme in ("extremes", "all", "outside")],
    ("random.*", "huge*", LEFT_OUT, SAMPLERS),
    ("random.*", "*infinity*", LEFT_OUT, SAMPLERS),
    ("random.*", "NaN*", LEFT_OUT, SAMPLERS),
    ("random.*", "tiny*", LEFT_OUT, "what a sampler gives for tiny parameters is huge, and rounded to an integer"),
    ("random.*", "*", ZEROS, ORDER),
    *[
        (f"special.{name}", "*", LEFT_OUT, DOMAIN)
        for name in ("polygamma", "zeta", "igamma*", "random_gamma_grad", "regularized_incomplete_beta")
    ],
)


def differences(identity: str, theme: str) -> frozenset[str] | None:
    """What may differ; None where nothing is compared.

    Out of "zeros": their signs; "size": what is small beside the greatest; "finite": what comes of complex numbers with
    infinities, NaN and minus zeros, and signs of zeros.
    """
    allowed = {what for names, themes, what, _ in TABLE if fnmatchcase(identity, names) and fnmatchcase(theme, themes)}
    return None if LEFT_OUT in allowed else frozenset(allowed)
