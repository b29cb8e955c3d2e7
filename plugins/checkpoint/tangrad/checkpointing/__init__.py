"""Rematerialisation: gradients that compute values again instead of keeping them. This file only hands names on."""

from tangrad.checkpointing.division import Division as Division
from tangrad.checkpointing.division import Recomputation as Recomputation
from tangrad.checkpointing.primitives import name_p as name_p
from tangrad.checkpointing.primitives import remat_p as remat_p
