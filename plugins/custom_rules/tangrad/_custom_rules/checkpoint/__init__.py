"""Rematerialisation: gradients that compute values again instead of keeping them. This file only hands names on."""

from tangrad._custom_rules.checkpoint.division import Division as Division
from tangrad._custom_rules.checkpoint.division import Recomputation as Recomputation
from tangrad._custom_rules.checkpoint.primitives import name_p as name_p
from tangrad._custom_rules.checkpoint.primitives import remat_p as remat_p
