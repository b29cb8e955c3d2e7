"""Who this process is among others, where a cluster's scheduler has said so.

Each kind of cluster is a plugin: an entry point of the group `tangrad.cluster_detectors`, whose name is the one that
`initialize(cluster_detection_method=...)` takes, and whose value is a `ClusterDetector`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tangrad.core import composition

DETECTORS_GROUP = "tangrad.cluster_detectors"
DEACTIVATED = "deactivate"


class Cluster(NamedTuple):
    """What is known of the processes that compute together; None for what is not.

    Attributes:
        coordinator_address: `host:port` of process 0, which the others reach.
        num_processes: how many there are.
        process_id: the number of this one, from 0.
        local_device_ids: which accelerators of its machine it takes; None for all that it sees.
    """

    coordinator_address: str | None = None
    num_processes: int | None = None
    process_id: int | None = None
    local_device_ids: tuple[int, ...] | None = None


class ClusterDetector:
    """How processes of one kind of cluster find out who they are.

    Args:
        detect: from the environment variables to a `Cluster`, or None for a process that was not started by such a
            cluster.
        priority: of several kinds that say who this process is, the highest is believed.
        automatic: whether it is asked without being named.

    >>> from tangrad.distributed import Cluster, ClusterDetector
    >>> def detect(environ):
    ...     if "GRID_RANK" in environ:
    ...         return Cluster(environ["GRID_HEAD"] + ":4000", int(environ["GRID_SIZE"]), int(environ["GRID_RANK"]))
    >>> grid = ClusterDetector(detect)
    >>> grid.detect({"GRID_RANK": "1", "GRID_SIZE": "8", "GRID_HEAD": "node0"}).coordinator_address
    'node0:4000'
    """

    def __init__(
        self, detect: Callable[[Mapping[str, str]], Cluster | None], *, priority: int = 0, automatic: bool = True
    ) -> None:
        self.detect = detect
        self.priority = priority
        self.automatic = automatic


def _check(plugin: Any, loaded: Any) -> None:
    if not isinstance(loaded, ClusterDetector):
        raise TypeError(
            f"expected a tangrad.distributed.ClusterDetector, got {loaded!r} of type {type(loaded).__name__}"
        )


composition().set_check(DETECTORS_GROUP, _check)


def detect(method: str | None, environ: Mapping[str, str] = os.environ) -> tuple[str, Cluster]:
    """The name of the kind of cluster that this process belongs to, and what it says; ("", nothing) for none.

    Args:
        method: the kind that the user names; "deactivate" for none; None for whichever knows this process.

    Raises ValueError for a kind that is not installed, or that did not start this process.
    """
    if method == DEACTIVATED:
        return "", Cluster()
    if method is not None:
        found = _named(method).detect(environ)
        if found is None:
            raise ValueError(
                f"cluster_detection_method={method!r}: nothing in the environment of this process says that it was "
                f"started so; state coordinator_address, num_processes and process_id"
            )
        return method, found
    asked = [(name, _named(name)) for name in sorted(composition().names(DETECTORS_GROUP))]
    for name, detector in sorted(asked, key=lambda pair: -pair[1].priority):
        found = detector.detect(environ) if detector.automatic else None
        if found is not None:
            return name, found
    return "", Cluster()


def _named(name: str) -> ClusterDetector:
    plugin = composition().find(DETECTORS_GROUP, name)
    if plugin is None:
        known = ", ".join([repr(known) for known in sorted(composition().names(DETECTORS_GROUP))])
        raise ValueError(
            f"cluster_detection_method must be one of {known}, {DEACTIVATED!r} or None, got {name!r}; others are entry "
            f"points of the group {DETECTORS_GROUP!r}"
        )
    return plugin.load()
