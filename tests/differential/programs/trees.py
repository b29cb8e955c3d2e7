"""Parameters and results in containers."""

from collections import namedtuple

from ..corpus import normal, program

Moments = namedtuple("Moments", "mean second")


@program(
    lambda r: (
        {"layers": [{"w": normal(r, 3, 4), "b": normal(r, 4)}, {"w": normal(r, 4, 2), "b": None}], "scale": normal(r)},
        normal(r, 5, 3),
    ),
    grad=(0,),
    vmap=(None, 0),
)
def nested_parameters(api, parameters, x):
    """Dicts, lists and None."""
    for layer in parameters["layers"]:
        x = api.numpy.tanh(x @ layer["w"] + (0.0 if layer["b"] is None else layer["b"]))
    return {"out": x * parameters["scale"], "none": None}


@program(lambda r: ({"w": normal(r, 3), "b": normal(r, 2)}, {"w": normal(r, 3), "b": normal(r, 2)}), grad=(0, 1))
def descent_step(api, parameters, gradients):
    """tree.map over two trees."""
    return api.tree.map(lambda value, gradient: value - 0.1 * gradient, parameters, gradients)


@program(lambda r: (normal(r, 4), Moments(normal(r, 4), normal(r, 4) ** 2)), grad=(0, 1))
def adam_step(api, gradient, moments):
    """Moments in a named tuple."""
    np = api.numpy
    mean = 0.9 * moments.mean + 0.1 * gradient
    second = 0.999 * moments.second + 0.001 * gradient**2
    return Moments(mean, second), mean / (np.sqrt(second) + 1e-3)


@program(lambda r: ([normal(r, 2, 3), (normal(r, 4), normal(r))],), grad=(0,))
def global_norm(api, tree):
    """Clip a tree by its norm."""
    np = api.numpy
    norm = np.sqrt(sum(np.sum(leaf**2) for leaf in api.tree.leaves(tree)))
    return api.tree.map(lambda leaf: leaf * np.minimum(1.0, 1.0 / norm), tree)


@program(lambda r: ({"a": normal(r, 3), "b": (normal(r, 3), normal(r, 3))},), grad=(0,))
def flatten_and_rebuild(api, tree):
    """Leaves doubled and put back."""
    leaves, structure = api.tree.flatten(tree)
    return api.tree.unflatten(structure, [leaf * 2 for leaf in leaves]), sum(leaves)
