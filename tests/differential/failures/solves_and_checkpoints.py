"""Solves and checkpoints that must be refused."""

from ..failing import failing


def root(api, f, solve=lambda f, x: x, tangent_solve=lambda g, y: y, guess=1.5, **options):
    return api.lax.custom_root(f, api.numpy.asarray(guess), solve, tangent_solve, **options)


def linear(api, matvec, solve=lambda matvec, b: b, **options):
    return api.lax.custom_linear_solve(matvec, api.numpy.ones(3), solve, **options)


@failing("f, function", "initial_guess", "tuple")
def function_of_a_root_with_wrong_structure(api):
    return root(api, lambda x: (x,))


@failing("solve, function", "initial_guess")
def solver_of_a_root_with_wrong_structure(api):
    return root(api, lambda x: x, lambda f, x: {"x": x})


@failing("tangent_solve, function", "initial_guess")
def tangent_solver_of_a_root_with_wrong_structure(api):
    return root(api, lambda x: x, tangent_solve=lambda g, y: [y])


@failing("f, function", "f32[]", "f32[3]", jax=("TypeError", "ValueError"))
def function_of_a_root_with_wrong_shape(api):
    return api.grad(lambda a: root(api, lambda x: api.numpy.ones(3) * x * a))(1.0)


@failing("solve, function", "pair", "auxiliary")
def solver_of_a_root_without_auxiliary(api):
    return root(api, lambda x: x, has_aux=True)


@failing("f must be a function", "3")
def root_of_no_function(api):
    return root(api, 3)


@failing("solve must be a function", "3")
def root_without_solver(api):
    return root(api, lambda x: x, 3)


@failing("'text'")
def root_of_text(api):
    return root(api, lambda x: "text")


@failing("truth")
def solver_that_looks_at_values(api):
    return root(api, lambda x: x, lambda f, x: x if x > 0 else -x)


@failing("matvec, function", "structure of b")
def matvec_with_wrong_structure(api):
    return linear(api, lambda x: [x])


@failing("matvec, function", "f32[3]", "f32[]")
def matvec_with_wrong_shape(api):
    return linear(api, lambda x: x[0])


@failing("matvec, function", "as many arrays", "1", "2")
def matvec_with_too_many_arrays(api):
    return linear(api, lambda x: (x, x))


@failing("solve, function", "f32[3]", "f32[]")
def solver_with_wrong_shape(api):
    return linear(api, lambda x: x, lambda matvec, b: b[0])


@failing("solve, function", "structure of b")
def solver_with_wrong_structure(api):
    return linear(api, lambda x: x, lambda matvec, b: {"x": b})


@failing("transpose_solve, function", "f32[3]", "f32[]")
def transpose_solver_with_wrong_shape(api):
    return linear(api, lambda x: x, transpose_solve=lambda vecmat, b: b[0])


@failing("transpose_solve", "symmetric=True")
def reverse_mode_without_transpose_solver(api):
    solve = lambda b: api.lax.custom_linear_solve(lambda x: 2.0 * x, b, lambda matvec, b: b / 2)
    return api.grad(lambda b: api.numpy.sum(solve(b)))(api.numpy.ones(3))


@failing("solve, function", "pair", "auxiliary")
def solver_without_auxiliary(api):
    return linear(api, lambda x: x, has_aux=True)


@failing("matvec must be a function", "3")
def matvec_that_is_no_function(api):
    return linear(api, 3)


@failing("'text'", "str")
def checkpoint_of_text(api):
    return api.checkpoint(lambda x: x)("text")


@failing("'text'")
def checkpoint_that_returns_text(api):
    return api.checkpoint(lambda x: "text")(1.0)


@failing("static_argnums", "3", "1")
def checkpoint_with_static_argument_beyond(api):
    return api.checkpoint(lambda x: x, static_argnums=3)(1.0)


@failing("static_argnums", "'x'")
def checkpoint_with_static_argument_by_name(api):
    return api.checkpoint(lambda x: x, static_argnums="x")(1.0)


@failing("prevent_cse", "1.5")
def checkpoint_with_strange_barrier(api):
    return api.checkpoint(lambda x: x, prevent_cse=1.5)(1.0)


@failing("truth")
def truth_in_a_checkpoint(api):
    return api.checkpoint(lambda x: x if x > 0 else -x)(1.0)


@failing("policy", "'keep'")
def policy_that_decides_nothing(api):
    return api.grad(api.checkpoint(api.numpy.sin, policy=lambda *_, **__: "keep"))(1.0)


@failing("both")
def name_to_be_saved_and_offloaded(api):
    return api.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=["a"], names_which_can_be_offloaded=["a"], offload_src="x", offload_dst="y"
    )


@failing("booleans")
def joined_policies_that_offload(api):
    p = api.checkpoint_policies
    joined = p.save_from_both_policies(p.offload_dot_with_no_batch_dims("x", "y"), p.dots_saveable)
    return api.grad(api.checkpoint(api.numpy.sin, policy=joined))(1.0)
