# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.sparse_arrays.bcoo import BCOO as BCOO
from tangrad.sparse_arrays.conversions import bcoo_extract as bcoo_extract
from tangrad.sparse_arrays.conversions import bcoo_fromdense as bcoo_fromdense
from tangrad.sparse_arrays.conversions import bcoo_todense as bcoo_todense
from tangrad.sparse_arrays.conversions import todense as todense
from tangrad.sparse_arrays.creation import empty as empty
from tangrad.sparse_arrays.creation import eye as eye
from tangrad.sparse_arrays.creation import random_bcoo as random_bcoo
from tangrad.sparse_arrays.derivatives import grad as grad
from tangrad.sparse_arrays.derivatives import value_and_grad as value_and_grad
from tangrad.sparse_arrays.ordering import bcoo_sort_indices as bcoo_sort_indices
from tangrad.sparse_arrays.ordering import bcoo_sum_duplicates as bcoo_sum_duplicates
from tangrad.sparse_arrays.products import bcoo_dot_general as bcoo_dot_general
from tangrad.sparse_arrays.products import bcoo_multiply_dense as bcoo_multiply_dense
from tangrad.sparse_arrays.products import bcoo_multiply_sparse as bcoo_multiply_sparse
from tangrad.sparse_arrays.structure import bcoo_reduce_sum as bcoo_reduce_sum
from tangrad.sparse_arrays.structure import bcoo_transpose as bcoo_transpose

__all__ = [
    "BCOO",
    "bcoo_dot_general",
    "bcoo_extract",
    "bcoo_fromdense",
    "bcoo_multiply_dense",
    "bcoo_multiply_sparse",
    "bcoo_reduce_sum",
    "bcoo_sort_indices",
    "bcoo_sum_duplicates",
    "bcoo_todense",
    "bcoo_transpose",
    "empty",
    "eye",
    "grad",
    "random_bcoo",
    "todense",
    "value_and_grad",
]
