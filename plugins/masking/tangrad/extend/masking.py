"""What other distributions may use of tangrad-masking, under the policy of the extension API."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._masking.sizes": "INT32 Sizes check_whole filled number positionwise repeated stacked whole",
        "tangrad._masking.trace": "mask_jaxpr masked_flat",
    },
)
