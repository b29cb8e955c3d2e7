"""What other distributions may use of tangrad-collectives, under the policy of the extension API."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._collectives.axes": "as_tuple names_among positions_among refuse_names size_of_axis",
        "tangrad._collectives.exchanges": "all_gather",
        "tangrad._collectives.named_axes": "RenamedFunction Substitution subst_axis_names subst_under_binder",
        "tangrad._collectives.positions": "axis_index differing",
        "tangrad._collectives.primitives": (
            "all_gather_p all_to_all_p axis_index_p pbroadcast_p pinvary_p pmax_p pmin_p ppermute_p psum_p psum_to_p "
            "pvary_p reduce_scatter_p"
        ),
        "tangrad._collectives.reductions": "psum",
    },
)
