"""Random keys in loops."""

from typing import Any

from .idioms import TIMES, Idioms

IDIOMS = Idioms()


def add(name: str, work: Any) -> None:
    """Add an idiom, none of which NumPy has."""
    IDIOMS.add(name, work, in_numpy=False)


add("uniform(key(i))", lambda api, x, n: [api.random.uniform(api.random.key(i)) for i in TIMES])
add("fold_in(key, i)", lambda api, x, n: [api.random.normal(api.random.fold_in(api.random.key(1), i)) for i in TIMES])
add(
    "for key in split(key, n)",
    lambda api, x, n: [api.random.uniform(k) for k in api.random.split(api.random.key(0), n)],
)
add("a, b, c = split(key, 3)", lambda api, x, n: [api.random.bits(k) for k in api.random.split(api.random.key(0), 3)])
add("randint up to i", lambda api, x, n: [api.random.randint(api.random.key(0), (n,), 0, i + 1) for i in TIMES])
add("uniform up to i", lambda api, x, n: [api.random.uniform(api.random.key(0), (n,), maxval=i + 1.0) for i in TIMES])
add("bernoulli(i / 30)", lambda api, x, n: [api.random.bernoulli(api.random.key(0), i / 30, (n,)) for i in TIMES])
add("permutation(key(i), x)", lambda api, x, n: [api.random.permutation(api.random.key(i), x) for i in TIMES])
add("choice(key(i), x)", lambda api, x, n: [api.random.choice(api.random.key(i), x, (5,)) for i in range(8)])


@IDIOMS.named("key, sub = split(key)", in_numpy=False)
def key_in_a_loop(api: Any, x: Any, n: int) -> Any:
    """A key that is split in each step."""
    key, drawn = api.random.key(0), []
    for _ in TIMES:
        key, sub = api.random.split(key)
        drawn.append(api.random.normal(sub, (3,)))
    return drawn
