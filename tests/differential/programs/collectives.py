"""Collectives along the axes of vmap that have names, under other transformations and in control flow."""

from ..corpus import integers, normal, program, uniform


def over(api, function, *arguments, **options):
    """The function mapped over an axis i."""
    return api.vmap(function, axis_name="i", **options)(*arguments)


def twice(api, function, *arguments):
    """The function mapped over an axis i, the outer one, and an axis j."""
    return api.vmap(api.vmap(function, axis_name="j"), axis_name="i")(*arguments)


# --- sums, means, extremes -------------------------------------------------------------------------------------------


@program(lambda r: (normal(r, 4, 3),), grad=(0,), usual=True)
def sum_along_a_mapped_axis(api, x):
    """Each example's share of a total, and the total itself, which is not mapped."""
    share = over(api, lambda v: v * api.lax.psum(v, "i"), x)
    return share, over(api, lambda v: api.lax.psum(v, "i"), x, out_axes=None)


@program(lambda r: (normal(r, 4), integers(r, -5, 5, 4, 2)), grad=(0,), usual=True)
def sum_of_a_tree(api, x, n):
    """Leaves of several dtypes, booleans and None among them."""
    return over(api, lambda v, m: api.lax.psum({"x": v, "n": m, "positive": (m > 0, None)}, "i"), x, n)


@program(lambda r: (normal(r, 3),), grad=(0,), usual=True)
def sums_of_constants(api, x):
    """Of what is the same for all examples the sum is a product, and of Python numbers a Python number."""

    def function(v):
        size = api.lax.psum(1, "i")
        assert size == 3 and type(size) is int
        assert type(api.lax.psum(0.5, "i")) is float
        return v / size + api.lax.psum(0.5, "i"), api.lax.psum(api.numpy.arange(3), "i"), api.lax.psum(True, "i")

    return over(api, function, x)


@program(lambda r: (normal(r, 3), normal(r, 2)), grad=(0, 1), usual=True)
def sums_of_values_that_are_not_mapped(api, x, y):
    """An argument that all examples share, in every reduction."""

    def function(v, w):
        return api.lax.psum(v * w, "i"), api.lax.psum(w, "i"), api.lax.pmean(w, "i"), v + api.lax.psum(w[0], "i")

    return over(api, function, x, y, in_axes=(0, None))


@program(lambda r: (integers(r, -5, 6, 4), integers(r, 0, 9, 4, dtype="int8")), vmap=False, usual=True)
def mean_of_integers(api, n, small):
    """The mean is a float."""
    return over(api, lambda a, b: (api.lax.pmean(a, "i"), api.lax.pmean(b, "i"), api.lax.pmean(a > 0, "i")), n, small)


@program(lambda r: (normal(r, 4, 3), integers(r, -9, 9, 4, 2)), usual=True)
def extremes_along_a_mapped_axis(api, x, n):
    """Of floats, integers, booleans, complex numbers and constants."""
    lax = api.lax

    def function(v, m):
        return (
            lax.pmax((v, m, v > 0), "i"),
            lax.pmin((v, m, v > 0), "i"),
            lax.pmax(v + 1j * m[0], "i"),
            lax.pmax(2.0, "i"),
        )

    return over(api, function, x, n)


@program(lambda r: (normal(r, 5, 3),), grad=(0,), usual=True)
def softmax_across_examples(api, x):
    """Shifted by the greatest, of which no derivative is taken."""

    def function(v):
        e = api.numpy.exp(v - api.lax.pmax(api.lax.stop_gradient(v), "i"))
        return e / api.lax.psum(e, "i")

    return over(api, function, x)


@program(lambda r: (uniform(r, 0.5, 2.0, 4, 3),), grad=(0,), usual=True)
def standardised_across_examples(api, x):
    """Means and variances over a batch that no function sees as a whole."""

    def function(v):
        mean = api.lax.pmean(v, "i")
        variance = api.lax.pmean((v - mean) ** 2, "i")
        return (v - mean) / api.numpy.sqrt(variance + 1e-3)

    return over(api, function, x)


# --- several axes, positions -----------------------------------------------------------------------------------------


@program(lambda r: (normal(r, 2, 3, 4),), grad=(0,), usual=True)
def sums_over_two_axes(api, x):
    """Both axes, in either order, each of them, and one in the other."""
    lax = api.lax
    sums = twice(
        api, lambda v: (lax.psum(v, ("i", "j")), lax.psum(v, ["j", "i"]), lax.psum(v, "i"), lax.psum(v, "j")), x
    )
    return sums, twice(api, lambda v: lax.psum(api.numpy.sin(lax.psum(v, "i")) * v, "j"), x)


@program(lambda r: (normal(r, 4, 3, 2),), grad=(0,), usual=True)
def sums_over_axes_and_dimensions(api, x):
    """Named axes with dimensions of the operand beside them."""
    lax = api.lax
    return over(api, lambda v: (lax.psum(v, ("i", 0)), lax.psum(v, (1, "i")), lax.psum(v, (0, 1))), x), lax.psum(x, 0)


@program(lambda r: (normal(r, 4, 3),), usual=True)
def extremes_over_axes_and_dimensions(api, x):
    """Named axes with dimensions of the operand beside them."""
    return over(api, lambda v: (api.lax.pmax(v, ("i", 0)), api.lax.pmin(v, ("i", 0))), x), api.lax.pmin(x, (0, 1))


@program(lambda r: (normal(r, 2, 3),), usual=True)
def indices_along_axes(api, x):
    """Of one axis, of two in either order, of none; sizes."""
    lax = api.lax

    def function(v):
        places = lax.axis_index("i"), lax.axis_index("j"), lax.axis_index(("i", "j")), lax.axis_index(["j", "i"])
        return places, lax.axis_index(()), lax.axis_size("i"), lax.axis_size(("i", "j")), v * lax.axis_index("j")

    return twice(api, function, x)


@program(lambda r: (normal(r, 3, 3),), grad=(0,), vmap=False, usual=True)
def axes_of_one_name(api, x):
    """The inner one hides the outer one."""
    lax, vmap = api.lax, api.vmap
    inner = vmap(lambda v: (lax.psum(v, "i"), lax.axis_index("i")), axis_name="i")
    return vmap(lambda row: (inner(row), lax.psum(row, "i")), axis_name="i")(x)


@program(lambda r: (normal(r, 3, 4), normal(r, 4)), grad=(0, 1), usual=True)
def named_axis_around_axes_without_name(api, x, y):
    """A collective of the outer axis in an inner map, over operands that one of the two maps."""

    def function(row):
        return api.vmap(lambda v, w: (api.lax.psum(v * w, "i"), api.lax.psum(w, "i"), v), out_axes=(0, 0, -1))(row, y)

    return over(api, function, x)


@program(lambda r: (normal(r, 2, 3, 4),), grad=(0,), usual=True)
def outer_collectives_in_an_inner_map(api, x):
    """Gathering, scattering and exchanging along the outer axis where an inner one is mapped as well."""
    lax = api.lax

    def function(v):
        pairs = v.reshape(2, 2)
        moved = lax.all_gather(v, "i", axis=1), lax.all_gather(v, "i", tiled=True), lax.psum_scatter(pairs, "i")
        return moved, lax.all_to_all(pairs, "i", 1, 0), lax.ppermute(v, "i", [(0, 1), (1, 0)])

    return twice(api, function, x), twice(api, lambda v: lax.psum_scatter(v, "i", tiled=True), x)


# --- gathering, scattering, exchanging -------------------------------------------------------------------------------


@program(lambda r: (normal(r, 3, 2, 2),), grad=(0,), usual=True)
def gathered(api, x):
    """Along new dimensions at several places, and tiled."""
    gather = api.lax.all_gather
    new = over(api, lambda v: (gather(v, "i"), gather(v, "i", axis=1), gather(v, "i", axis=-1)), x)
    tiled = over(api, lambda v: (gather(v, "i", tiled=True), gather(v, "i", axis=1, tiled=True)), x)
    return new, tiled, over(api, lambda v: gather(v, "i"), x, out_axes=None), over(api, lambda v: gather(2.0, "i"), x)


@program(lambda r: (normal(r, 3, 3, 6),), grad=(0,), usual=True)
def scattered(api, x):
    """Element by element, and tiled; what is not mapped; and gathered again."""
    lax = api.lax
    parts = over(
        api, lambda v: (lax.psum_scatter(v, "i"), lax.psum_scatter(v, "i", scatter_dimension=1, tiled=True)), x
    )
    constant = over(api, lambda v: lax.psum_scatter(api.numpy.arange(3.0), "i") * v[0, 0], x)
    again = over(
        api, lambda v: lax.all_gather(lax.psum_scatter(v, "i", tiled=True), "i", tiled=True) - lax.psum(v, "i"), x
    )
    return parts, constant, again


@program(lambda r: (normal(r, 3, 3, 3),), grad=(0,), usual=True)
def exchanged(api, x):
    """Each example's slices, one to every example."""
    exchange = api.lax.all_to_all
    same = over(api, lambda v: (exchange(v, "i", 0, 0), exchange(v, "i", 1, 1)), x)
    other = over(api, lambda v: (exchange(v, "i", 0, 1), exchange(v, "i", 1, 0)), x)
    return same, other, over(api, lambda v: api.lax.pswapaxes(v, "i", 1), x)


@program(lambda r: (normal(r, 2, 4, 6),), grad=(0,), vmap=False, usual=True)
def exchanged_in_tiles(api, x):
    """Slices that stay slices."""
    exchange = api.lax.all_to_all
    return over(api, lambda v: [exchange(v, "i", a, b, tiled=True) for a in (0, 1) for b in (0, 1)], x)


@program(lambda r: (normal(r, 2, 3, 6, 2),), vmap=False, usual=True)
def exchanged_over_two_axes(api, x):
    """The joint axis, the first name varying slowest."""
    exchange = api.lax.all_to_all
    return twice(api, lambda v: (exchange(v, ("i", "j"), 0, 0), exchange(v, ("i", "j"), 0, 1)), x)


@program(lambda r: (normal(r, 5, 2),), grad=(0,), usual=True)
def sent_around_a_ring(api, x):
    """A permutation, as pairs and as a list of sources."""
    ring = [(k, (k + 1) % 5) for k in range(5)]
    around = over(api, lambda v: (api.lax.ppermute(v, "i", ring), api.lax.pshuffle(v, "i", [3, 1, 4, 0, 2])), x)
    return around, over(api, lambda v: v * api.lax.ppermute(api.numpy.cos(v), "i", ring), x)


@program(lambda r: (normal(r, 4, 3),), grad=(0,), vmap=False, usual=True)
def diffusion_with_halos(api, x):
    """A stencil whose neighbours are other examples."""
    to_right, to_left = [(k, (k + 1) % 4) for k in range(4)], [((k + 1) % 4, k) for k in range(4)]

    def function(v):
        left = api.lax.ppermute(v[-1:], "i", to_right)
        right = api.lax.ppermute(v[:1], "i", to_left)
        padded = api.numpy.concatenate([left, v, right])
        return v + 0.1 * (padded[2:] - 2 * v + padded[:-2])

    return over(api, lambda v: function(function(v)), x)


@program(lambda r: (normal(r, 4),), grad=(0,), vmap=False, usual=True)
def running_totals_across_examples(api, x):
    """By gathering and an index."""

    def function(v):
        every = api.lax.all_gather(v, "i")
        return api.numpy.sum(api.numpy.where(api.numpy.arange(4) <= api.lax.axis_index("i"), every, 0.0))

    return over(api, function, x)


@program(lambda r: (normal(r, 6),), vmap=False, usual=True)
def ranks_across_examples(api, x):
    """How many examples are smaller."""
    return over(api, lambda v: api.numpy.sum(api.lax.all_gather(v, "i") < v), x)


@program(lambda r: (normal(r, 2, 4, 3), normal(r, 2, 3, 5)), grad=(0, 1), vmap=False, usual=True)
def matrix_product_in_parts(api, a, b):
    """Partial products summed; the parts gathered, or scattered."""
    lax = api.lax
    whole = over(api, lambda u, v: lax.psum(u @ v, "i"), a, b)
    gathered_rows = over(api, lambda u, v: lax.all_gather(u, "i", tiled=True) @ v, a, b)
    return whole, gathered_rows, over(api, lambda u, v: lax.psum_scatter(u @ v, "i", tiled=True), a, b)


# --- within other transformations ------------------------------------------------------------------------------------


@program(lambda r: (normal(r, 3, 2),), grad=(0,), vmap=False, usual=True)
def jit_inside_and_outside(api, x):
    """A jitted function that uses an axis, called where that has other sizes; and all of it jitted."""
    share = api.jit(lambda v: v / (1.0 + api.lax.psum(v**2, "i")))
    more = api.numpy.concatenate([x, 2.0 * x])
    everything = api.jit(lambda v: over(api, lambda w: share(share(w)), v))
    return over(api, share, x), over(api, share, more), everything(x), over(api, api.jit(api.jit(share)), x)


@program(lambda r: (normal(r, 3),), grad=(0,), usual=True)
def gradients_inside(api, x):
    """Each example's gradient is that of the sum of all examples' results."""
    lax, np = api.lax, api.numpy
    functions = (
        lambda v: np.sin(lax.psum(v**2, "i")),
        lambda v: np.sum(lax.all_gather(v, "i") * np.arange(3.0) * v),
        lambda v: lax.ppermute(v, "i", [(0, 1), (1, 2), (2, 0)]) * v**2,
        lambda v: np.tanh(lax.pmean(v, "i")) * lax.axis_index("i"),
        lambda v: lax.psum_scatter(np.stack([v, v * v, v**3]), "i"),
    )
    return [over(api, api.grad(function), x) for function in functions]


@program(lambda r: (normal(r, 3, 2),), grad=(0,), vmap=False, usual=True)
def gradients_of_gradients_inside(api, x):
    """The second derivative within the map, of the Hessian too."""
    np = api.numpy

    def function(v):
        return np.sum(np.sin(api.lax.psum(v * v, "i")) * v)

    def slope(v):
        return np.sum(np.cos(api.grad(function)(v)))

    return over(api, api.grad(slope), x), over(api, api.hessian(function), x)


@program(lambda r: (normal(r, 3), normal(r, 3)), grad=(0, 1), vmap=False, usual=True)
def forward_derivatives_inside(api, x, t):
    """jvp, linearize, vjp and linear_transpose within the map."""
    lax, np = api.lax, api.numpy

    def function(v):
        return np.sin(lax.psum(v * lax.axis_index("i"), "i")) * lax.pmean(v, "i") + np.sum(lax.all_gather(v, "i") ** 2)

    def everything(v, w):
        value, linear = api.linearize(function, v)
        _, pull = api.vjp(function, v)
        (back,) = api.linear_transpose(lambda u: 2.0 * lax.psum(u, "i"), v)(w)
        return api.jvp(function, (v,), (w,)), value, linear(w), pull(w), back

    return over(api, everything, x, t)


@program(lambda r: (normal(r, 4, 3), normal(r, 4), normal(r, 3)), grad=(2,), vmap=False, usual=True)
def data_parallel_training(api, inputs, targets, weights):
    """Gradients averaged over examples, in steps of a scan; all examples keep the same weights."""

    def function(x, y, w):
        def step(w, _):
            loss, gradient = api.value_and_grad(lambda u: (api.numpy.dot(x, u) - y) ** 2)(w)
            gradient = api.lax.pmean(gradient, "i")
            return w - 0.05 * gradient, api.lax.pmean(loss, "i")

        return api.lax.scan(step, w, None, length=4)

    return over(api, function, inputs, targets, weights, in_axes=(0, 0, None))


@program(lambda r: (normal(r, 3, 4),), grad=(0,), usual=True)
def scans_with_collectives(api, x):
    """A carry that becomes mapped by what the others send, and one that is the sum."""
    ring = [(0, 1), (1, 2), (2, 0)]

    def function(v):
        def step(carry, element):
            block, total, _ = carry
            block = api.lax.ppermute(block, "i", ring)
            return (block, total + api.lax.psum(block * element, "i"), api.lax.axis_index("i")), block[0]

        return api.lax.scan(step, (v, 0.0 * v, api.numpy.int32(0)), v[:3])

    return over(api, function, x)


@program(lambda r: (normal(r, 3),), grad=(0,), usual=True)
def scan_with_a_carry_that_only_the_axis_makes_differ(api, x):
    """Nothing that is mapped goes into the scan, but its body looks at the index."""

    def function(v):
        def step(carry, _):
            return carry + api.lax.axis_index("i").astype("float32"), carry

        total, parts = api.lax.scan(step, 1.0, None, length=3)
        return total * v, parts

    return over(api, function, x)


@program(lambda r: (uniform(r, 0.5, 3.0, 4),), usual=True)
def loop_until_all_agree(api, x):
    """The condition of a loop is a collective, so it is the same for all examples."""

    def function(v):
        def step(carry):
            value, count = carry
            return 0.5 * (value + api.lax.pmean(value, "i")), count + 1

        def apart(carry):
            return api.lax.pmax(carry[0], "i") - api.lax.pmin(carry[0], "i") > 0.01

        return api.lax.while_loop(apart, step, (v, 0))

    return over(api, function, x)


@program(lambda r: (normal(r, 4),), grad=(0,), vmap=False, usual=True)
def loop_with_a_fixed_count(api, x):
    """fori_loop and map with collectives inside."""
    lax = api.lax

    def function(v):
        loop = lax.fori_loop(0, 3, lambda k, u: u + 0.1 * lax.psum(u * (k + 1), "i"), v)
        return loop, lax.map(lambda u: lax.psum(u * v, "i"), api.numpy.arange(3.0))

    return over(api, function, x)


@program(lambda r: (normal(r, 4),), grad=(0,), usual=True)
def branches_with_collectives(api, x):
    """The predicate is the same for all examples; both branches use the axis."""
    lax = api.lax

    def function(v):
        big = lax.psum(v, "i") > 0.0
        return lax.cond(big, lambda u: u * lax.psum(u, "i"), lambda u: u - lax.pmean(u, "i"), v)

    return over(api, function, x), over(api, lambda v: function(-v), x)


@program(lambda r: (normal(r, 4), integers(r, 0, 3, 4)), usual=True)
def branches_that_examples_choose(api, x, n):
    """Each example takes its own branch; all take part in the collectives of all branches."""
    lax = api.lax
    branches = [lambda u: lax.psum(u, "i"), lambda u: lax.pmax(u, "i"), lambda u: u + lax.axis_index("i")]
    return over(api, lambda v, m: lax.switch(m, branches, v), x, n)


@program(lambda r: (normal(r, 3, 4),), grad=(0,), usual=True)
def checkpoints_with_collectives(api, x):
    """Computed again in the gradient, inside and outside of the map."""
    np = api.numpy

    def layer(v):
        return np.tanh(v * api.lax.psum(np.sin(v), "i") + np.sum(api.lax.all_gather(v, "i"), 0))

    again = api.checkpoint(layer)
    inner = over(api, api.grad(lambda v: np.sum(again(again(v)))), x)
    policy = api.checkpoint(layer, policy=api.checkpoint_policies.everything_saveable)
    return inner, over(api, lambda v: api.jit(again)(policy(v)), x)


@program(lambda r: (normal(r, 3, 2),), grad=(0,), vmap=False, usual=True)
def checkpointed_scan_with_collectives(api, x):
    """A checkpointed body that sends values around."""

    @api.checkpoint
    def body(carry, _):
        moved = api.lax.ppermute(api.numpy.sin(carry), "i", [(0, 2), (2, 1), (1, 0)])
        return carry * 0.5 + moved * api.lax.pmean(carry, "i"), moved

    return over(api, lambda v: api.lax.scan(body, v, None, length=3), x)


@program(lambda r: (normal(r, 3),), grad=(0,), usual=True)
def forward_rule_with_collectives(api, x):
    """A custom_jvp function whose rule uses the axis, of mapped and of shared values."""

    @api.custom_jvp
    def function(v):
        return v * api.lax.axis_index("i")

    @function.defjvp
    def _rule(primals, tangents):
        return function(primals[0]), tangents[0] * (api.lax.axis_index("i") + 10) + api.lax.psum(tangents[0], "i")

    plain = over(api, function, x), over(api, lambda v: function(2.0) + v, x)
    inner = over(api, api.grad(function), x), over(api, lambda v: api.jvp(api.jit(function), (v,), (v,)), x)
    return plain, inner, over(api, lambda v: api.lax.scan(lambda c, _: (function(c), c), v, None, length=2), x)


@program(lambda r: (normal(r, 3),), grad=(0,), usual=True)
def backward_rule_with_collectives(api, x):
    """A custom_vjp function whose backward rule sums over examples."""
    lax = api.lax

    @api.custom_vjp
    def function(v):
        return lax.psum(v, "i") * v

    def forward(v):
        return function(v), (v, lax.psum(v, "i"))

    def backward(residuals, ct):
        return (lax.psum(ct * residuals[0], "i") + ct * residuals[1],)

    function.defvjp(forward, backward)
    plain = over(api, function, x), over(api, lambda v: function(2.0) + v, x)
    inner = over(api, api.grad(function), x), over(api, api.grad(api.checkpoint(function)), x)
    return plain, inner, over(api, lambda v: api.lax.scan(lambda c, _: (function(0.1 * c), c), v, None, length=2), x)


@program(lambda r: (normal(r, 3),), grad=(0,), usual=True)
def rule_of_a_sum_that_leaves_the_map(api, x):
    """A custom_vjp function whose result is one for all examples, differentiated inside and outside of the map."""

    @api.custom_vjp
    def total(v):
        return api.lax.psum(v * v, "i")

    total.defvjp(lambda v: (total(v), v), lambda v, ct: (2 * v * ct,))
    shared = api.vmap(total, axis_name="i", out_axes=None)
    outside = api.grad(lambda y: api.numpy.sum(over(api, total, y)))(x), api.grad(shared)(x)
    return shared(x), outside, over(api, api.grad(total), x)


@program(lambda r: (normal(r, 4, 2), normal(r, 2, 2)), grad=(0, 1), vmap=False, usual=True)
def closures_over_the_map(api, x, w):
    """A collective of a value of an outer trace, and a gradient with respect to what all examples share."""
    np = api.numpy

    def loss(matrix):
        return np.sum(over(api, lambda v: np.tanh(v @ matrix) - api.lax.pmean(v @ matrix, "i"), x))

    return api.grad(loss)(w), over(api, lambda v: api.lax.psum(w * v, "i"), x), api.jacfwd(loss)(w)


@program(lambda r: (normal(r, 2, 3, 2),), grad=(0,), usual=True)
def two_axes_in_control_flow(api, x):
    """Sums over one axis decide about those over the other."""
    lax = api.lax

    def function(v):
        def step(carry, _):
            rows = lax.psum(carry, "j")
            mean = lax.cond(lax.psum(carry[0], ("i", "j")) > 0, lambda u: lax.pmean(u, "i"), lambda u: -u, rows)
            return carry + 0.1 * mean, lax.axis_index(("i", "j"))

        return lax.scan(step, v, None, length=3)

    return twice(api, function, x)


@program(lambda r: (normal(r, 4, 3),), grad=(0,), vmap=False, usual=True)
def axes_of_the_map(api, x):
    """in_axes and out_axes other than the first; keyword arguments; axis_size."""
    lax, vmap = api.lax, api.vmap
    columns = vmap(lambda v: v - lax.pmean(v, "i"), 1, 1, axis_name="i")(x)
    repeated = vmap(lambda v: v * lax.axis_index("i"), None, 1, axis_name="i", axis_size=2)(x)
    return columns, repeated, vmap(lambda *, v: lax.psum(v, "i") * v, axis_name="i")(v=x)


@program(lambda r: (normal(r, 3, 2),), x64=True, grad=(0,), vmap=False, usual=True)
def collectives_in_double_precision(api, x):
    """64-bit values and indices."""
    lax = api.lax

    def function(v):
        w = v.astype("float64")
        return lax.psum(w, "i"), lax.pmean(lax.axis_index("i"), "i"), lax.all_gather(w, "i"), lax.psum(v > 0, "i")

    return over(api, function, x)
