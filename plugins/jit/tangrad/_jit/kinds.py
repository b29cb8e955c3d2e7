"""Jit as a plugin. It owns no rule kind: its primitive has rules of all other kinds."""

from __future__ import annotations

from tangrad.core import Transformation

jit = Transformation("jit", api=1, doc="staging out and compilation (jit, make_jaxpr, eval_shape)")
