"""The cipher and the wrapping of keys on padded arrays: each position by itself."""

from __future__ import annotations

from tangrad._random.cipher import random_unwrap_p, random_wrap_p, threefry2x32_p
from tangrad.core import RuleSet
from tangrad.extend.masking import whole

mask = RuleSet("mask", api=1)
whole(mask, random_wrap_p, random_unwrap_p, threefry2x32_p)
