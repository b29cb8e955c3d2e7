"""Functions of values with named axes, and where these axes live. This file only hands names on."""

from tangrad._sharding.xmap.primitives import xmap_p as xmap_p
