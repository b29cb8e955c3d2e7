"""Control flow that must be refused: both types or trees, and the leaf that differs by its path."""

from tests.differential.corpus import failing


@failing("true_fun", "false_fun", "(f32[], i32[])", "(f32[], f32[3])", "[1]")
def branches_of_different_types(api):
    one, three = api.numpy.float32(1), api.numpy.ones(3)
    return api.lax.cond(one > 0, lambda x: (x, 1), lambda x: (x, three), one)


@failing("f32[]", "i32[]", "the dtypes differ")
def branches_of_different_dtypes(api):
    return api.jit(lambda x: api.lax.cond(x > 0, lambda v: v, lambda v: 1, x))(1.0)


@failing("true_fun", "['a']", "tuple", "list")
def branches_of_different_trees(api):
    return api.lax.cond(True, lambda x: {"a": (x,)}, lambda x: {"a": [x]}, 1.0)


@failing("the keys differ", "'b'")
def branches_of_different_keys(api):
    return api.lax.cond(True, lambda x: {"a": x}, lambda x: {"b": x}, 1.0)


@failing("None")
def branches_with_and_without_result(api):
    return api.vmap(lambda x: api.lax.cond(x > 0, lambda v: v, lambda v: None, x))(api.numpy.ones(2))


@failing("branch 0", "branch 2", "i32[]")
def branches_of_a_switch(api):
    return api.lax.switch(0, [lambda x: x, lambda x: x, lambda x: 1], 1.5)


@failing("pred", "scalar", "f32[3]")
def predicate_of_a_shape(api):
    return api.lax.cond(api.numpy.ones(3), lambda: 1, lambda: 2)


@failing("pred", "'yes'")
def predicate_of_text(api):
    return api.lax.cond("yes", lambda: 1, lambda: 2)


@failing("true_fun", "3")
def branch_that_is_no_function(api):
    return api.lax.cond(True, 3, lambda x: x, 1.0)


@failing("f32[]", "integer")
def index_of_a_fraction(api):
    return api.lax.switch(1.5, [lambda x: x, lambda x: -x], 1.0)


@failing("scalar", "i32[2]")
def index_of_a_shape(api):
    return api.lax.switch(api.numpy.array([0, 1]), [lambda x: x, lambda x: -x], 1.0)


@failing("at least one")
def switch_without_branches(api):
    return api.lax.switch(0, [], 1.0)


@failing("operands[0]['a']", "'text'")
def operand_that_is_no_array(api):
    return api.lax.cond(True, lambda x: 1, lambda x: 2, {"a": "text"})


@failing("cond_fun", "boolean scalar", "f32[]")
def condition_that_is_a_number(api):
    return api.lax.while_loop(lambda x: x, lambda x: x, 1.0)


@failing("cond_fun", "boolean scalar", "bool[2]")
def condition_of_a_shape(api):
    return api.lax.while_loop(lambda x: x > 0, lambda x: x, api.numpy.ones(2))


@failing("cond_fun", "boolean scalar")
def condition_that_is_a_tree(api):
    return api.lax.while_loop(lambda x: (x > 0,), lambda x: x, 1.0)


@failing("(f32[], i32[])", "(f32[], f32[3])", "[1]")
def carry_of_a_while_changes_type(api):
    body = lambda s: (s[0], api.numpy.ones(3))
    return api.lax.while_loop(lambda s: s[0] < 1, body, (api.numpy.float32(1), api.numpy.int32(2)))


@failing("tuple", "array")
def carry_of_a_while_changes_structure(api):
    return api.lax.while_loop(lambda s: s[0] < 1, lambda s: s[0], (1.0, 2.0))


@failing("while_loop", "scan")
def reverse_mode_of_a_while(api):
    return api.grad(lambda x: api.lax.while_loop(lambda v: v < 10, lambda v: v * 2, x))(1.0)


@failing("fori_loop", "scan")
def reverse_mode_of_a_loop_of_traced_length(api):
    return api.jit(api.grad(lambda x, n: api.lax.fori_loop(0, n, lambda i, v: v * 2, x)))(1.0, 3)


@failing("['x']", "f32[]", "f32[3]")
def carry_of_a_fori_changes_type(api):
    return api.lax.fori_loop(0, 5, lambda i, y: {"x": api.numpy.ones(3)}, {"x": api.numpy.float32(1)})


@failing("lower", "upper", "f32[]")
def bounds_of_different_types(api):
    return api.lax.fori_loop(0, 5.0, lambda i, x: x, 1.0)


@failing("unroll")
def unrolled_without_known_bounds(api):
    return api.jit(lambda n: api.lax.fori_loop(0, n, lambda i, y: y, 1.0, unroll=2))(3)


@failing("{'a': f32[], 'b': f32[]}", "{'a': f32[], 'b': f32[3]}", "['b']", "the shapes differ")
def carry_of_a_scan_changes_shape(api):
    one, three = api.numpy.float32(1), api.numpy.ones(3)
    return api.lax.scan(lambda c, x: ({"a": c["a"], "b": three}, x), {"a": one, "b": one}, three)


@failing("i32[]", "f32[]", "the dtypes differ")
def carry_of_a_scan_changes_dtype(api):
    return api.lax.scan(lambda c, x: (c * 1.5, x), api.numpy.int32(1), api.numpy.ones(3))


@failing("tuple", "array")
def carry_of_a_scan_changes_structure(api):
    return api.lax.scan(lambda c, x: ((c, c), x), 1.0, api.numpy.ones(3))


@failing("(carry, result)")
def scan_that_returns_no_pair(api):
    return api.lax.scan(lambda c, x: c, 1.0, api.numpy.ones(3))


@failing("(carry, result)")
def scan_that_returns_three(api):
    return api.lax.scan(lambda c, x: (c, x, x), 1.0, api.numpy.ones(3))


@failing("3, 4")
def slices_of_different_lengths(api):
    return api.lax.scan(lambda c, x: (c, x), 1.0, (api.numpy.ones(3), api.numpy.ones(4)))


@failing("length is 4", "3")
def length_that_contradicts(api):
    return api.lax.scan(lambda c, x: (c, x), 1.0, api.numpy.ones(3), length=4)


@failing("length")
def scan_of_unknown_length(api):
    return api.lax.scan(lambda c, x: (c, x), 1.0)


@failing("length")
def scan_of_traced_length(api):
    return api.jit(lambda n: api.lax.scan(lambda c, x: (c, None), 1.0, None, length=n))(3)


@failing("xs['a']", "f32[]", jax="IndexError")
def scan_of_a_number(api):
    return api.lax.scan(lambda c, x: (c, x), 1.0, {"a": api.numpy.float32(2.0)})


@failing("unroll", "-1")
def negative_unroll(api):
    return api.lax.scan(lambda c, x: (c, x), 1.0, api.numpy.ones(3), unroll=-1)


@failing("unroll", "2.5", "float")
def fractional_unroll(api):
    return api.lax.scan(lambda c, x: (c + x, x), 1.0, api.numpy.ones(3), unroll=2.5)


@failing("pred", "c64[]")
def complex_predicate(api):
    return api.lax.cond(1j, lambda: 1, lambda: 2)


@failing("result", "'text'")
def scan_that_returns_text(api):
    return api.lax.scan(lambda c, x: (c, "text"), 1.0, api.numpy.ones(3))


@failing("batch_size", "-1", jax="TypeError")
def map_in_batches_of_less_than_none(api):
    return api.lax.map(lambda x: x, api.numpy.ones(3), batch_size=-1)


@failing("f32[3]", "f32[4]")
def associative_scan_of_different_sizes(api):
    return api.lax.associative_scan(lambda a, b: a, (api.numpy.ones(3), api.numpy.ones(4)))


@failing("fn must be a function", "3")
def associative_scan_without_function(api):
    return api.lax.associative_scan(3, api.numpy.ones(3))


@failing("truth")
def truth_of_a_carry(api):
    return api.lax.scan(lambda c, x: (c if x > 0 else -c, None), 1.0, api.numpy.ones(3))


@failing("float")
def number_of_a_carry(api):
    return api.lax.fori_loop(0, 3, lambda i, c: c + float(c), 1.0)


@failing()
def index_of_a_list_in_a_loop(api):
    return api.lax.fori_loop(0, 3, lambda i, c: c + [1, 2, 3][i], 0)


@failing("trace")
def carry_that_leaks(api):
    kept = []
    api.lax.scan(lambda c, x: (kept.append(c) or c, None), 1.0, api.numpy.ones(3))
    return api.numpy.sin(kept[0])


@failing("mine")
def errors_of_bodies_pass(api):
    def body(c, x):
        raise KeyError("mine")

    return api.lax.scan(body, 1.0, api.numpy.ones(3))


# --- Solves and checkpoints that must be refused ---


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
