"""Where arguments meet: the placement that they are committed to, and copies of them there."""

from __future__ import annotations

from collections.abc import Sequence

from tangrad._backend_xla import jaxlib_api, sharded
from tangrad._backend_xla.array import Placement, XlaArray
from tangrad._backend_xla.jaxlib_api import physical_aval
from tangrad.core import transfers


def common_placement(arrays: Sequence[XlaArray], name: str) -> Placement | None:
    """The placement that arguments are committed to; None if they are free to move.

    Raises ValueError for arrays committed to different devices.
    """
    committed: Placement | None = None
    for array in arrays:
        if array.placement.committed:
            if committed is None:
                committed = array.placement
            elif committed is not array.placement:
                raise ValueError(_incompatible_message(arrays, name))
    return committed


def _incompatible_message(arrays: Sequence[XlaArray], name: str) -> str:
    where = [
        f"argument {position} ({array.aval.str_short()}) on {', '.join(map(str, array.placement.devices))}"
        for position, array in enumerate(arrays)
        if array.placement.committed
    ]
    return (
        f"Received incompatible devices for jitted computation {name}: its arguments are committed to different "
        f"devices: {'; '.join(where)}. "
        "Move them to one device first: tangrad.device_put(x, device)"
    )


def moved(array: XlaArray, placement: Placement) -> XlaArray:
    """As `move`, for a computation that needs it there: an implicit copy."""
    if array.placement.sharding is not placement.sharding:
        transfers.copied(transfers.DEVICE_TO_DEVICE, array.aval, placement.devices[0])
    return move(array, placement)


def move(array: XlaArray, placement: Placement) -> XlaArray:
    """A copy of an array at another placement; the array itself if only the commitment differs."""
    source = array.placement
    if placement.user_sharding is not None:
        return array if source is placement else sharded.move(array, placement)
    if source.sharding is placement.sharding:
        return XlaArray(array.aval, array.value, placement)
    array._check_not_deleted()
    aval = physical_aval(array.aval)
    same_client = source.devices[0].client is placement.devices[0].client
    if len(source.devices) == 1 and same_client:
        return XlaArray(array.aval, jaxlib_api.copy_to(array.value, aval, placement.sharding), placement)
    return XlaArray(array.aval, jaxlib_api.put(array._contents(), aval, placement.sharding), placement)
