"""What other distributions may use of tangrad-random, under the policy of the extension API."""

from tangrad.core import door

__getattr__, __dir__ = door(
    __name__,
    {
        "tangrad._random.ciphers": "random_unwrap_p random_wrap_p threefry2x32_p",
        "tangrad._random.distributions.normal": "normal random_normal_p",
        "tangrad._random.distributions.selection": "choice",
        "tangrad._random.distributions.stream": "random_uniform_p",
        "tangrad._random.distributions.uniform": "random_between_p",
        "tangrad._random.functions": "split",
        "tangrad._random.generators": "RandomAlgorithm rng_bit_generator_p",
        "tangrad._random.key_reuse.watching": "follow_keys",
        "tangrad._random.keys": "THREEFRY",
        "tangrad._random.primitives": "random_bits_p random_fold_in_p random_split_p",
    },
)
