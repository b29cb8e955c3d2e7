"""The settings that `tangrad.lax` reads."""

from __future__ import annotations

from tangrad.core.settings import define_setting, one_of, optional_text

MATMUL_PRECISIONS = (None, "default", "high", "highest", "bfloat16", "tensorfloat32", "float32")

default_matmul_precision = define_setting(
    "default_matmul_precision",
    None,
    "Precision of matrix products and convolutions that do not state one.",
    parse=lambda text: one_of(*MATMUL_PRECISIONS)(optional_text(text)),
    check=one_of(*MATMUL_PRECISIONS),
    changes_results=True,
)
