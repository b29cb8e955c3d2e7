# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._distributed.detection import (
    Cluster as Cluster,
    ClusterDetector as ClusterDetector,
)
from tangrad._distributed.membership import (
    initialize as initialize,
    is_initialized as is_initialized,
    shutdown as shutdown,
)

__all__ = [
    "Cluster",
    "ClusterDetector",
    "initialize",
    "is_initialized",
    "shutdown",
]
