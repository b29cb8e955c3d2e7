"""`jax.experimental.colocated_python.serialization`: the names that annotations need."""


class DeviceList:
    """A list of devices that is sent to a cluster: nothing makes one here."""
