"""Transformations in loops: of functions that are made in the loop, of closures over numbers that change, of trees."""

from typing import Any

from .idioms import Idioms, square

IDIOMS = Idioms()
FEW, SOME = range(3), range(10)


def add(name: str, work: Any) -> None:
    """Add an idiom, none of which NumPy has."""
    IDIOMS.add(name, work, in_numpy=False)


def called_with(function: Any, x: Any, numbers: Any) -> list[Any]:
    """The results of a function of x and of a Python number."""
    return [function(x, number) for number in numbers]


def loss(y: Any) -> Any:
    """A function to differentiate."""
    return ((y * y - y) * 0.5).sum()


add("tree.map of a list", lambda api, x, n: api.tree.map(lambda v: v * 2, [x] * 10))
add(
    "tree.map of two dicts",
    lambda api, x, n: api.tree.map(lambda p, g: p - 0.1 * g, {"w": x, "b": x}, {"w": x, "b": x}),
)
add("jit(f)(x, 0.1 i)", lambda api, x, n: called_with(api.jit(lambda y, s: y * s), x, [0.1 * i for i in SOME]))
add("jit(f)(x, i)", lambda api, x, n: called_with(api.jit(lambda y, s: y + s), x, SOME))
add("jit in a loop", lambda api, x, n: [api.jit(lambda y: y * 2 + 1)(x) for _ in FEW])
add("jit of a closure", lambda api, x, n: [api.jit(lambda y, i=i: y * i)(x) for i in FEW])
add("grad in a loop", lambda api, x, n: [api.grad(loss)(x) for _ in SOME])
add("grad of a lambda", lambda api, x, n: [api.grad(lambda y: (y * y).sum())(x) for _ in SOME])
add("grad of a closure", lambda api, x, n: [api.grad(lambda y, i=i: (y * i).sum())(x) for i in SOME])
add("value_and_grad", lambda api, x, n: [api.value_and_grad(loss)(x * i) for i in SOME])
add("grad of a number", lambda api, x, n: [api.grad(lambda v: v**3)(0.1 * i) for i in SOME])
add("grad of grad", lambda api, x, n: [api.grad(api.grad(lambda v: v**3))(0.1 * i) for i in FEW])
add("vmap of a lambda", lambda api, x, n: [api.vmap(lambda v: v * 2 + 1)(x) for _ in SOME])
add("vmap of a closure", lambda api, x, n: [api.vmap(lambda row, i=i: row @ row * i)(square(x)) for i in SOME])
add("vmap of grad", lambda api, x, n: api.vmap(api.grad(lambda v: v * v))(x))
add("jacrev", lambda api, x, n: api.jacrev(lambda y: y * y)(x[:5]))
add("hessian", lambda api, x, n: api.hessian(loss)(x[:5]))
add("jvp, vjp", lambda api, x, n: (api.jvp(loss, (x,), (x,)), api.vjp(loss, x)[1](1.0)))
add("fori_loop(0, i)", lambda api, x, n: [api.lax.fori_loop(0, i, lambda j, s: s + j, 0) for i in FEW])
add("scan over x", lambda api, x, n: api.lax.scan(lambda c, v: (c + v, c), 0.0, x))
add("cond of x[i]", lambda api, x, n: [api.lax.cond(x[i] > 3, lambda v: v, lambda v: -v, x[i]) for i in SOME])
add("while_loop", lambda api, x, n: api.lax.while_loop(lambda s: s < 50.0, lambda s: s * 2.0, x[1]))
add("make_jaxpr", lambda api, x, n: str(api.make_jaxpr(loss)(x)))
add("eval_shape", lambda api, x, n: api.eval_shape(loss, x))
add("device_get", lambda api, x, n: api.device_get({"x": x, "y": x}))
add("block_until_ready", lambda api, x, n: api.block_until_ready(x * 2))


@IDIOMS.named("gradient descent", in_numpy=False)
def descent(api: Any, x: Any, n: int) -> Any:
    """Steps of gradient descent on a tree of parameters, not compiled."""
    parameters = {"w": x, "b": x[0]}
    for _ in SOME:
        gradient = api.grad(lambda p: loss(p["w"] * x + p["b"]))(parameters)
        parameters = api.tree.map(lambda p, g: p - 0.01 * g, parameters, gradient)
    return parameters
