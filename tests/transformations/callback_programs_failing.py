"""Programs with callbacks that go wrong; see callback_programs.py."""

import numpy as np

from tests.transformations.callback_programs import ONE, THREE, failing, like, report, scalar


def fails(x):
    raise ValueError("the message of the user")


@failing(THREE)
def pure_raises(api, record):
    return lambda x: api.pure_callback(fails, like(api, x), x)


@failing(THREE)
def io_raises(api, record):
    return lambda x: api.experimental.io_callback(fails, like(api, x), x, ordered=True)


@failing(THREE)
def debug_raises(api, record):
    return lambda x: api.debug.callback(fails, x)


@failing(THREE)
def wrong_shape(api, record):
    return lambda x: api.pure_callback(lambda x: np.zeros(2, "float32"), like(api, x), x)


@failing(THREE)
def wrong_dtype(api, record):
    return lambda x: api.pure_callback(lambda x: np.zeros(3, "int32"), like(api, x), x)


@failing(THREE)
def too_few_results(api, record):
    return lambda x: api.pure_callback(lambda x: (x,), (like(api, x), like(api, x)), x)


@failing(THREE)
def too_many_results(api, record):
    return lambda x: api.pure_callback(lambda x: (x, x), like(api, x), x)


@failing(THREE)
def no_result(api, record):
    return lambda x: api.pure_callback(lambda x: None, like(api, x), x)


@failing(THREE)
def a_result_where_none_is_declared(api, record):
    return lambda x: api.experimental.io_callback(lambda x: x, None, x)


@failing(THREE)
def a_result_that_is_no_array(api, record):
    return lambda x: api.pure_callback(lambda x: "text", like(api, x), x)


@failing(THREE)
def an_integer_for_a_float(api, record):
    return lambda x: api.pure_callback(lambda x: 1, scalar(api), x)


@failing(THREE)
def a_format_that_does_not_fit_when_it_runs(api, record):
    return lambda x: api.debug.print("{:.2f}", x)


@failing(ONE)
def pure_without_a_rule(api, record):
    return api.grad(lambda x: api.pure_callback(np.sin, scalar(api), x))


@failing(ONE)
def io_under_a_gradient(api, record):
    return api.grad(lambda x: api.experimental.io_callback(np.sin, scalar(api), x))


@failing(THREE)
def pure_without_a_way_to_map(api, record):
    return api.vmap(lambda x: api.pure_callback(np.sin, scalar(api), x))


@failing(THREE)
def ordered_io_mapped(api, record):
    return api.vmap(lambda x: report(api, record, "x", x))


@failing(THREE)
def io_in_a_mapped_branch(api, record):
    return api.vmap(lambda x: api.lax.cond(x > 1, lambda: report(api, record, "x", x, False), lambda: None))


@failing(ONE)
def io_in_a_checkpoint(api, record):
    def f(x):
        return x * api.experimental.io_callback(lambda x: x, scalar(api), api.lax.stop_gradient(x))

    return api.grad(api.checkpoint(f))


@failing(THREE)
def an_argument_that_is_no_array(api, record):
    return lambda x: api.pure_callback(lambda x, y: x, like(api, x), x, "text")


@failing(THREE)
def results_of_64_bits(api, record):
    return lambda x: api.pure_callback(np.sin, api.ShapeDtypeStruct((3,), "float64"), x)


@failing(THREE)
def an_unknown_way_to_map(api, record):
    return lambda x: api.pure_callback(np.sin, like(api, x), x, vmap_method="rows")


@failing(THREE)
def print_without_place(api, record):
    return lambda x: api.debug.print("text", x)


@failing(THREE)
def print_without_place_by_name(api, record):
    return lambda x: api.debug.print("text", x=x)


@failing(THREE)
def print_without_argument(api, record):
    return lambda x: api.debug.print("{} {}", x)


@failing(THREE)
def print_without_argument_by_name(api, record):
    return lambda x: api.debug.print("{y}", x=x)


@failing(THREE)
def debug_of_what_is_no_function(api, record):
    return lambda x: api.debug.callback(3, x)


@failing(THREE)
def debug_in_two_calls_with_arguments(api, record):
    return lambda x: api.debug.callback(ordered=True, note=x)
