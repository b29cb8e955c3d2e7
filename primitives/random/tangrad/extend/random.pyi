# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._random.cipher import (
    random_unwrap_p as random_unwrap_p,
    random_wrap_p as random_wrap_p,
    threefry2x32_p as threefry2x32_p,
)
from tangrad._random.distributions.normal import (
    normal as normal,
    random_normal_p as random_normal_p,
)
from tangrad._random.distributions.selection import choice as choice
from tangrad._random.distributions.stream import random_uniform_p as random_uniform_p
from tangrad._random.distributions.uniform import random_between_p as random_between_p
from tangrad._random.functions import split as split
from tangrad._random.generators import (
    RandomAlgorithm as RandomAlgorithm,
    rng_bit_generator_p as rng_bit_generator_p,
)
from tangrad._random.keys import THREEFRY as THREEFRY
from tangrad._random.primitives import (
    random_bits_p as random_bits_p,
    random_fold_in_p as random_fold_in_p,
    random_split_p as random_split_p,
)

__all__ = [
    "RandomAlgorithm",
    "THREEFRY",
    "choice",
    "normal",
    "random_between_p",
    "random_bits_p",
    "random_fold_in_p",
    "random_normal_p",
    "random_split_p",
    "random_uniform_p",
    "random_unwrap_p",
    "random_wrap_p",
    "rng_bit_generator_p",
    "split",
    "threefry2x32_p",
]
