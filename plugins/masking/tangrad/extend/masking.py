"""What other distributions may use of tangrad-masking, under the policy of the extension API."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._masking.rule_helpers": "check_whole filled positionwise repeated stacked whole",
        "tangrad._masking.sizes": "INT32 Sizes number",
        "tangrad._masking.trace": "mask_jaxpr masked_flat",
    },
)
