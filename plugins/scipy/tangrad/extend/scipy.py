"""What other distributions may use of tangrad-scipy, under the policy of the extension API."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._scipy.definitions": "defined",
        "tangrad._scipy.distribution_records": (
            "ANY CHANCE COUNT Distribution Domain FRACTION NOT_NEGATIVE POSITIVE PROBABILITY Parameter Support "
            "Unstandardised complement_of exp_of location log_complement_of log_of scale"
        ),
        "tangrad._scipy.minimisation": "OptimizeResults",
        "tangrad._scipy.order_statistics": "ModeResult",
        "tangrad._scipy.rotations": "Rotation",
    },
)
