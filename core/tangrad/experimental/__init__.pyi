# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._core.settings.config import (
    without_x64 as disable_x64,
    enable_x64 as enable_x64,
)
from tangrad._custom_rules.dead_code import custom_dce as custom_dce
from tangrad._debug.functions import io_callback as io_callback
from tangrad.experimental import checkify as checkify
from tangrad.experimental import maps as maps
from tangrad.experimental import mesh_utils as mesh_utils
from tangrad.experimental import multihost_utils as multihost_utils
from tangrad.experimental import ode as ode
from tangrad.experimental import pjit as pjit
from tangrad.experimental import serialize_executable as serialize_executable
from tangrad.experimental import shard_map as shard_map
from tangrad.experimental import sparse as sparse

__all__ = [
    "checkify",
    "custom_dce",
    "disable_x64",
    "enable_x64",
    "io_callback",
    "maps",
    "mesh_utils",
    "multihost_utils",
    "ode",
    "pjit",
    "serialize_executable",
    "shard_map",
    "sparse",
]
