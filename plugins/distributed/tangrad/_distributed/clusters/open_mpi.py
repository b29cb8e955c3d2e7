"""Open MPI: each process that `mpirun` or `mpiexec` started, without any call of MPI."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tangrad._distributed.addresses import Address, port_of
from tangrad._distributed.detection import Cluster, ClusterDetector


def _detect(environ: Mapping[str, str]) -> Cluster | None:
    if "OMPI_COMM_WORLD_RANK" not in environ:
        return None
    count = int(environ["OMPI_COMM_WORLD_SIZE"])
    local_count = int(environ.get("OMPI_COMM_WORLD_LOCAL_SIZE", count))
    local = environ.get("OMPI_COMM_WORLD_LOCAL_RANK")
    accelerators = (int(local),) if local is not None and local_count > 1 else None
    host = "127.0.0.1" if local_count == count else _host_of_mpirun(environ)
    address = None if host is None else str(Address(host, port_of(_job(environ))))
    return Cluster(address, count, int(environ["OMPI_COMM_WORLD_RANK"]), accelerators)


def _job(environ: Mapping[str, str]) -> str:
    """What all processes of a job have in common."""
    names = ("OMPI_MCA_orte_hnp_uri", "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid")
    return next((environ[name] for name in names if name in environ), "")


def _host_of_mpirun(environ: Mapping[str, str]) -> str | None:
    """The machine where `mpirun` runs, and the first processes with it; up to Open MPI 4 every process gets it.

    Such as "2118123520.0;tcp://10.0.0.7,192.168.1.7:43211".
    """
    found = re.search(r"tcp://([^,:;]+)", environ.get("OMPI_MCA_orte_hnp_uri", ""))
    return found.group(1) if found else None


# Within an allocation of Slurm, `mpirun` starts its processes in other numbers than Slurm's tasks.
open_mpi = ClusterDetector(_detect, priority=20)
