"""Rules that must be refused: the function and the position are named."""

import functools

from tests.differential.corpus import failing


def with_rule(api, rule, function=None):
    """A function `wave` with a jvp rule."""

    def wave(x):
        return api.numpy.sin(x)

    custom = api.custom_jvp(wave if function is None else function)
    custom.defjvp(rule)
    return custom


def with_rules(api, fwd, bwd, function=None, **options):
    """A function `wave` with a vjp rule."""

    def wave(x):
        return api.numpy.sin(x)

    custom = api.custom_vjp(wave if function is None else function, **options)
    custom.defvjp(fwd, bwd)
    return custom


def slope(api, f):
    return api.grad(lambda x: api.numpy.sum(api.tree.leaves(f(x))[0]))


@failing("wave", "defjvp")
def missing_defjvp(api):
    def wave(x):
        return x

    return api.custom_jvp(wave)(1.0)


@failing("wave", "defvjp")
def missing_defvjp(api):
    def wave(x):
        return x

    return api.custom_vjp(wave)(1.0)


@failing("wave", "pair")
def jvp_rule_without_pair(api):
    return api.grad(with_rule(api, lambda p, t: t[0]))(1.0)


@failing("wave", "pair")
def jvp_rule_with_three_values(api):
    return api.grad(with_rule(api, lambda p, t: (p[0], t[0], t[0])))(1.0)


@failing("wave", "output tangent 0", "f32[3]", "shape ()")
def jvp_rule_with_tangent_of_wrong_shape(api):
    return api.jvp(with_rule(api, lambda p, t: (p[0], api.numpy.ones(3))), (1.0,), (1.0,))


@failing("wave", "output tangent 0", "i32[]", "float32")
def jvp_rule_with_tangent_of_wrong_dtype(api):
    return api.jvp(with_rule(api, lambda p, t: (p[0], api.numpy.int32(1))), (1.0,), (1.0,))


@failing("wave", "one structure")
def jvp_rule_with_tangent_of_wrong_structure(api):
    return api.jvp(with_rule(api, lambda p, t: (p[0], (t[0],))), (1.0,), (1.0,))


@failing("pair", "structure", "[1]", jax=None)
def jvp_rule_with_output_of_wrong_structure(api):
    def pair(x):
        return [x, x]

    f = with_rule(api, lambda p, t: ([p[0], (p[0],)], [t[0], (t[0],)]), pair)
    return api.jit(lambda x: api.jvp(f, (x,), (1.0,)))(1.0)


@failing("wave", "output 0", "f32[3]", "f32[]", jax=None)
def jvp_rule_with_output_of_wrong_shape(api):
    rule = lambda p, t: (api.numpy.ones(3), api.numpy.ones(3))
    return api.jit(slope(api, with_rule(api, rule)))(1.0)


@failing("'text'")
def jvp_rule_with_text(api):
    return api.jvp(with_rule(api, lambda p, t: (p[0], "text")), (1.0,), (1.0,))


@failing("wave", "backward rule", "tuple", "1")
def bwd_without_tuple(api):
    return api.grad(with_rules(api, lambda x: (x, None), lambda r, ct: ct))(1.0)


@failing("product", "tuple of 1", "2")
def bwd_with_too_few_values(api):
    def product(x, y):
        return x * y

    f = with_rules(api, lambda x, y: (x * y, (x, y)), lambda r, ct: (ct,), product)
    return api.grad(f)(1.0, 2.0)


@failing("wave", "tuple of 2")
def bwd_with_too_many_values(api):
    return api.grad(with_rules(api, lambda x: (x, None), lambda r, ct: (ct, ct)))(1.0)


@failing("wave", "[0]", "f32[3]", "()")
def bwd_with_cotangent_of_wrong_shape(api):
    return api.grad(with_rules(api, lambda x: (x, None), lambda r, ct: (api.numpy.ones(3),)))(1.0)


@failing("wave", "[0]", "i32[]", "float32", jax=None)
def bwd_with_cotangent_of_wrong_dtype(api):
    return api.grad(with_rules(api, lambda x: (x, None), lambda r, ct: (api.numpy.int32(1),)))(1.0)


@failing("pick", "structure", "['b']")
def bwd_with_cotangent_of_wrong_structure(api):
    def pick(tree):
        return tree["a"] * tree["b"]

    f = with_rules(api, lambda t: (pick(t), t), lambda t, ct: ({"a": ct, "b": (ct,)},), pick)
    return api.grad(f)({"a": 1.0, "b": 2.0})


@failing("wave", "forward rule", "pair")
def fwd_without_pair(api):
    return api.grad(with_rules(api, lambda x: x, lambda r, ct: (ct,)))(1.0)


@failing("wave", "structure", jax=None)
def fwd_with_output_of_wrong_structure(api):
    f = with_rules(api, lambda x: ((x, x), None), lambda r, ct: (ct[0],))
    return api.jit(slope(api, f))(1.0)


@failing("wave", "output 0", "f32[3]", jax=None)
def fwd_with_output_of_wrong_shape(api):
    f = with_rules(api, lambda x: (api.numpy.ones(3) * x, None), lambda r, ct: (api.numpy.sum(ct),))
    return api.jit(slope(api, f))(1.0)


@failing("wave", "residuals")
def fwd_with_text_as_residual(api):
    return api.grad(with_rules(api, lambda x: (x, "text"), lambda r, ct: (ct,)))(1.0)


@failing("wave", "forward-mode", "custom_jvp")
def forward_mode_of_a_vjp_rule(api):
    return api.jvp(with_rules(api, lambda x: (x, None), lambda r, ct: (ct,)), (1.0,), (1.0,))


@failing("wave", "nondiff_argnums", "tracer")
def tracer_as_nondiff_argument(api):
    def wave(scale, x):
        return scale * x

    f = with_rules(api, lambda s, x: (x * s, None), lambda s, r, ct: (ct * s,), wave, nondiff_argnums=(0,))
    return api.grad(lambda s: f(s, 2.0))(3.0)


@failing("wave", "nondiff_argnums")
def argument_that_is_no_array(api):
    def wave(mode, x):
        return x

    f = api.custom_jvp(wave)
    f.defjvp(lambda p, t: (p[1], t[1]))
    return api.jit(lambda x: f("sin", x))(1.0)


@failing("'other'", "['x']", jax=None)
def unknown_nondiff_argname(api):
    return functools.partial(api.custom_jvp, nondiff_argnames=("other",))(lambda x: x)


@failing("wave", "'k'")
def keyword_only_argument(api):
    def wave(x, *, k):
        return x * k

    f = api.custom_jvp(wave)
    f.defjvp(lambda p, t: (p[0], t[0]))
    return f(1.0, k=2.0)


@failing("wave", "uses a tracer that it closed over")
def differentiated_value_closed_over_by_the_rule(api):
    def run(y, x):
        return with_rule(api, lambda p, t: (p[0] * 2.0, t[0] * y))(x)

    return api.grad(run, (0, 1))(3.0, 1.0)


@failing("wave", "uses a tracer that it closed over")
def differentiated_value_closed_over_by_bwd(api):
    def run(y, x):
        return with_rules(api, lambda x: (x * 2.0, None), lambda r, ct: (ct * y,))(x)

    return api.grad(run, (0, 1))(3.0, 1.0)


@failing("wave", "closes over")
def differentiated_value_closed_over_by_a_function_with_jvp_rule(api):
    def run(y):
        def wave(x):
            return x * y

        return with_rule(api, lambda p, t: (p[0] * y, t[0] * y), wave)(2.0)

    return api.grad(run)(3.0)


@failing("wave", "closes over")
def differentiated_value_closed_over_by_a_vjp_rule(api):
    def run(y):
        def wave(x):
            return x * y

        f = with_rules(api, lambda x: (x * y, None), lambda r, ct: (ct * y,), wave)
        return f(2.0)

    return api.grad(run)(3.0)


@failing("function", "3")
def decorator_of_no_function(api):
    return with_rule(api, lambda p, t: (p[0], t[0]), 3)(1.0)


@failing("function", "3", jax=None)
def rule_that_is_no_function(api):
    return api.custom_jvp(lambda x: x).defjvp(3)


@failing("pair", "vjp function")
def custom_gradient_without_pair(api):
    return api.grad(api.custom_gradient(lambda x: x))(1.0)


@failing("structure")
def linear_call_with_transpose_of_wrong_structure(api):
    call = api.custom_derivatives.linear_call
    return api.grad(lambda x: call(lambda r, v: v, lambda r, ct: (ct, ct), (), x))(1.0)


@failing("f32[3]", "f32[]")
def linear_call_with_transpose_of_wrong_shape(api):
    call = api.custom_derivatives.linear_call
    return api.grad(lambda x: call(lambda r, v: v, lambda r, ct: api.numpy.ones(3), (), x))(1.0)


@failing("wave", "def_vmap")
def missing_def_vmap(api):
    def wave(x):
        return x

    return api.vmap(api.custom_batching.custom_vmap(wave))(api.numpy.ones(2))


@failing("pair", "out_batched", "structure")
def batch_rule_with_flags_of_wrong_structure(api):
    @api.custom_batching.custom_vmap
    def pair(x):
        return x, x

    pair.def_vmap(lambda size, batched, x: ((x, x), True))
    return api.vmap(pair)(api.numpy.ones(2))


@failing("pair", "structure", "[1]")
def batch_rule_with_too_few_values(api):
    @api.custom_batching.custom_vmap
    def pair(x):
        return x, [x]

    pair.def_vmap(lambda size, batched, x: ((x, []), (True, [])))
    return api.vmap(pair)(api.numpy.ones(2))


@failing("pair", jax="ValueError")
def batch_rule_without_pair(api):
    f = api.custom_batching.custom_vmap(lambda x: x)
    f.def_vmap(lambda size, batched, x: x)
    return api.vmap(f)(api.numpy.ones(3))


@failing("f32[]", "axis", jax="IndexError")
def batch_rule_without_axis(api):
    f = api.custom_batching.custom_vmap(lambda x: x)
    f.def_vmap(lambda size, batched, x: (x[0], True))
    return api.vmap(f)(api.numpy.ones(3))


@failing("closure_convert")
def closure_converted_for_other_arguments(api):
    converted, values = api.closure_convert(lambda t: t["a"], {"a": 1.0})
    return converted((1.0,), *values)


@failing("truth")
def truth_in_a_rule_under_jit(api):
    f = with_rule(api, lambda p, t: (p[0], t[0] if p[0] > 0 else -t[0]))
    return api.jit(api.grad(f))(1.0)


@failing("mine")
def errors_of_rules_pass(api):
    def bwd(residuals, ct):
        raise KeyError("mine")

    return api.grad(with_rules(api, lambda x: (x, None), bwd))(1.0)
