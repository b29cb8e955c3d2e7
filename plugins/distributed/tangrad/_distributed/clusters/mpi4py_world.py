"""mpi4py: the processes of MPI.COMM_WORLD, of any MPI. To be asked for by name, as it starts MPI."""

from __future__ import annotations

import importlib
import socket
from collections.abc import Mapping

from tangrad._distributed.addresses import Address
from tangrad._distributed.detection import Cluster, ClusterDetector


def _detect(environ: Mapping[str, str]) -> Cluster | None:
    try:
        mpi = importlib.import_module("mpi4py.MPI")
    except ImportError as error:
        raise ValueError(
            f"cluster_detection_method='mpi4py' asks MPI who this process is, by mpi4py, which cannot be imported: "
            f"{error}"
        ) from error
    world = mpi.COMM_WORLD
    address = str(Address(socket.gethostname(), _free_port())) if world.Get_rank() == 0 else None
    address = world.bcast(address, root=0)
    neighbours = world.Split_type(mpi.COMM_TYPE_SHARED)
    accelerators = (neighbours.Get_rank(),) if neighbours.Get_size() > 1 else None
    return Cluster(address, world.Get_size(), world.Get_rank(), accelerators)


def _free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("", 0))
        return int(trial.getsockname()[1])


mpi4py = ClusterDetector(_detect, automatic=False)
