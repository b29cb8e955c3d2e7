# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._collectives.axes import (
    as_tuple as as_tuple,
    names_among as names_among,
    positions_among as positions_among,
    refuse_names as refuse_names,
    size_of_axis as size_of_axis,
)
from tangrad._collectives.exchanges import all_gather as all_gather
from tangrad._collectives.named_axes.binders import subst_under_binder as subst_under_binder
from tangrad._collectives.named_axes.functions import RenamedFunction as RenamedFunction
from tangrad._collectives.named_axes.names import Substitution as Substitution
from tangrad._collectives.named_axes.substitution import subst_axis_names as subst_axis_names
from tangrad._collectives.positions import axis_index as axis_index
from tangrad._collectives.primitives import (
    all_gather_p as all_gather_p,
    all_to_all_p as all_to_all_p,
    axis_index_p as axis_index_p,
    pbroadcast_p as pbroadcast_p,
    pmax_p as pmax_p,
    pmin_p as pmin_p,
    ppermute_p as ppermute_p,
    psum_p as psum_p,
    psum_to_p as psum_to_p,
    pvary_p as pvary_p,
    reduce_scatter_p as reduce_scatter_p,
)
from tangrad._collectives.reductions import psum as psum
from tangrad._collectives.varying import differing as differing

__all__ = [
    "RenamedFunction",
    "Substitution",
    "all_gather",
    "all_gather_p",
    "all_to_all_p",
    "as_tuple",
    "axis_index",
    "axis_index_p",
    "differing",
    "names_among",
    "pbroadcast_p",
    "pmax_p",
    "pmin_p",
    "positions_among",
    "ppermute_p",
    "psum",
    "psum_p",
    "psum_to_p",
    "pvary_p",
    "reduce_scatter_p",
    "refuse_names",
    "size_of_axis",
    "subst_axis_names",
    "subst_under_binder",
]
