"""Parallel maps as a plugin. They own no rule kind: they are sharded maps over a mesh of one axis."""

from __future__ import annotations

from tangrad.core import Transformation

pmap = Transformation("pmap", api=1, doc="functions mapped over devices along an axis of their arguments")
