# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.experimental.sparse import linalg as linalg
from tangrad.sparse_arrays.base import JAXSparse as JAXSparse
from tangrad.sparse_arrays.bcoo import BCOO as BCOO
from tangrad.sparse_arrays.compressed import BCSR as BCSR
from tangrad.sparse_arrays.compressed_functions import bcsr_broadcast_in_dim as bcsr_broadcast_in_dim
from tangrad.sparse_arrays.compressed_functions import bcsr_concatenate as bcsr_concatenate
from tangrad.sparse_arrays.compressed_functions import bcsr_dot_general as bcsr_dot_general
from tangrad.sparse_arrays.compressed_functions import bcsr_extract as bcsr_extract
from tangrad.sparse_arrays.compressed_functions import bcsr_fromdense as bcsr_fromdense
from tangrad.sparse_arrays.compressed_functions import bcsr_sum_duplicates as bcsr_sum_duplicates
from tangrad.sparse_arrays.compressed_functions import bcsr_todense as bcsr_todense
from tangrad.sparse_arrays.conversions import bcoo_extract as bcoo_extract
from tangrad.sparse_arrays.conversions import bcoo_fromdense as bcoo_fromdense
from tangrad.sparse_arrays.conversions import bcoo_todense as bcoo_todense
from tangrad.sparse_arrays.conversions import todense as todense
from tangrad.sparse_arrays.creation import empty as empty
from tangrad.sparse_arrays.creation import eye as eye
from tangrad.sparse_arrays.creation import random_bcoo as random_bcoo
from tangrad.sparse_arrays.derivatives import grad as grad
from tangrad.sparse_arrays.derivatives import jacfwd as jacfwd
from tangrad.sparse_arrays.derivatives import jacrev as jacobian
from tangrad.sparse_arrays.derivatives import jacrev as jacrev
from tangrad.sparse_arrays.derivatives import value_and_grad as value_and_grad
from tangrad.sparse_arrays.layouts import SparseEfficiencyError as SparseEfficiencyError
from tangrad.sparse_arrays.layouts import SparseEfficiencyWarning as SparseEfficiencyWarning
from tangrad.sparse_arrays.matrices import COO as COO
from tangrad.sparse_arrays.matrices import CSC as CSC
from tangrad.sparse_arrays.matrices import CSR as CSR
from tangrad.sparse_arrays.matrices import coo_fromdense as coo_fromdense
from tangrad.sparse_arrays.matrices import coo_matmat as coo_matmat
from tangrad.sparse_arrays.matrices import coo_matvec as coo_matvec
from tangrad.sparse_arrays.matrices import coo_todense as coo_todense
from tangrad.sparse_arrays.matrices import csr_fromdense as csr_fromdense
from tangrad.sparse_arrays.matrices import csr_matmat as csr_matmat
from tangrad.sparse_arrays.matrices import csr_matvec as csr_matvec
from tangrad.sparse_arrays.matrices import csr_todense as csr_todense
from tangrad.sparse_arrays.ordering import bcoo_sort_indices as bcoo_sort_indices
from tangrad.sparse_arrays.ordering import bcoo_sum_duplicates as bcoo_sum_duplicates
from tangrad.sparse_arrays.products import bcoo_dot_general as bcoo_dot_general
from tangrad.sparse_arrays.products import bcoo_dot_general_sampled as bcoo_dot_general_sampled
from tangrad.sparse_arrays.products import bcoo_multiply_dense as bcoo_multiply_dense
from tangrad.sparse_arrays.products import bcoo_multiply_sparse as bcoo_multiply_sparse
from tangrad.sparse_arrays.sparsify import sparsify as sparsify
from tangrad.sparse_arrays.structure import bcoo_broadcast_in_dim as bcoo_broadcast_in_dim
from tangrad.sparse_arrays.structure import bcoo_concatenate as bcoo_concatenate
from tangrad.sparse_arrays.structure import bcoo_dynamic_slice as bcoo_dynamic_slice
from tangrad.sparse_arrays.structure import bcoo_reduce_sum as bcoo_reduce_sum
from tangrad.sparse_arrays.structure import bcoo_reshape as bcoo_reshape
from tangrad.sparse_arrays.structure import bcoo_rev as bcoo_rev
from tangrad.sparse_arrays.structure import bcoo_slice as bcoo_slice
from tangrad.sparse_arrays.structure import bcoo_squeeze as bcoo_squeeze
from tangrad.sparse_arrays.structure import bcoo_transpose as bcoo_transpose
from tangrad.sparse_arrays.structure import bcoo_update_layout as bcoo_update_layout

__all__ = [
    "BCOO",
    "BCSR",
    "COO",
    "CSC",
    "CSR",
    "JAXSparse",
    "SparseEfficiencyError",
    "SparseEfficiencyWarning",
    "bcoo_broadcast_in_dim",
    "bcoo_concatenate",
    "bcoo_dot_general",
    "bcoo_dot_general_sampled",
    "bcoo_dynamic_slice",
    "bcoo_extract",
    "bcoo_fromdense",
    "bcoo_multiply_dense",
    "bcoo_multiply_sparse",
    "bcoo_reduce_sum",
    "bcoo_reshape",
    "bcoo_rev",
    "bcoo_slice",
    "bcoo_sort_indices",
    "bcoo_squeeze",
    "bcoo_sum_duplicates",
    "bcoo_todense",
    "bcoo_transpose",
    "bcoo_update_layout",
    "bcsr_broadcast_in_dim",
    "bcsr_concatenate",
    "bcsr_dot_general",
    "bcsr_extract",
    "bcsr_fromdense",
    "bcsr_sum_duplicates",
    "bcsr_todense",
    "coo_fromdense",
    "coo_matmat",
    "coo_matvec",
    "coo_todense",
    "csr_fromdense",
    "csr_matmat",
    "csr_matvec",
    "csr_todense",
    "empty",
    "eye",
    "grad",
    "jacfwd",
    "jacobian",
    "jacrev",
    "linalg",
    "random_bcoo",
    "sparsify",
    "todense",
    "value_and_grad",
]
