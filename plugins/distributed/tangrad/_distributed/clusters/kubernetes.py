"""Kubernetes: pods of Kubeflow's JAXJob, and of indexed Jobs with a headless service.

A pod of a JAXJob has all in COORDINATOR_ADDRESS, COORDINATOR_PORT, NUM_PROCESSES and PROCESS_ID. One of an indexed
Job has its number in JOB_COMPLETION_INDEX, and its host name is that of the job and the number, such as "train-3":
so "train-0" is process 0. How many pods there are is not available.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping

from tangrad._distributed.addresses import Address
from tangrad._distributed.detection import Cluster, ClusterDetector

PORT = 8476


def detect(environ: Mapping[str, str], full_name: Callable[[], str] = socket.getfqdn) -> Cluster | None:
    """What a pod's environment says. `full_name`: of this host."""
    if "KUBERNETES_SERVICE_HOST" not in environ:
        return None
    number = environ.get("PROCESS_ID", environ.get("JOB_COMPLETION_INDEX"))
    if number is None:
        return None
    count = environ.get("NUM_PROCESSES")
    port = int(environ.get("COORDINATOR_PORT", PORT))
    host = environ.get("COORDINATOR_ADDRESS") or _first_pod(environ.get("HOSTNAME", ""), number, full_name())
    address = None if host is None else str(Address(host, port))
    return Cluster(address, None if count is None else int(count), int(number))


def _first_pod(host: str, number: str, full_name: str) -> str | None:
    """The name by which the pod with the number 0 is found."""
    job, dash, own_number = host.rpartition("-")
    if not dash or own_number != number:
        return None
    _, _, domain = full_name.partition(".")
    return f"{job}-0.{domain}" if domain else f"{job}-0"


kubernetes = ClusterDetector(detect)
