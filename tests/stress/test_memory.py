"""Programs of functions that are gone are gone: nothing is kept for each function that was ever transformed."""

import gc
import weakref

import pytest

import tangrad
from tangrad import lax
from tangrad.core import ClosedJaxpr

np = tangrad.numpy


def ruled(i):
    f = tangrad.custom_vjp(lambda x: x * i)
    f.defvjp(lambda x: (f(x), None), lambda _, ct: (ct * i,))
    return tangrad.grad(f)(1.0)


# Each makes functions of its own and forgets them.
WORK = {
    "jit": lambda i: tangrad.jit(lambda x: x + i)(1.0),
    "grad": lambda i: tangrad.grad(lambda x: x * i)(1.0),
    "jit of vmap of grad": lambda i: tangrad.jit(tangrad.vmap(tangrad.grad(lambda x: np.sin(x) * i)))(np.ones(2)),
    "scan": lambda i: lax.scan(lambda c, _: (c + i, None), 0.0, None, length=3),
    "grad of scan": lambda i: tangrad.grad(lambda x: lax.scan(lambda c, _: (c * i, None), x, None, length=3)[0])(1.0),
    "while": lambda i: lax.while_loop(lambda x: x < i, lambda x: x + 1.0, 0.0),
    "while, jitted": lambda i: tangrad.jit(lambda x: lax.while_loop(lambda x: x < i, lambda x: x + 1.0, x))(0.0),
    "while with a part that stays": lambda i: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1]), (0, i)),
    "fori": lambda i: lax.fori_loop(0, 3, lambda _, x: x * i, 1.0),
    "cond": lambda i: tangrad.jit(lambda p, x: lax.cond(p, lambda x: x * i, lambda x: x, x))(True, 1.0),
    "callback": lambda i: tangrad.jit(lambda x: tangrad.pure_callback(lambda x: x + i, x, x))(np.ones(2)),
    "rules of users": ruled,
    "checkpoint": lambda i: tangrad.grad(tangrad.checkpoint(lambda x: np.sin(x) * i))(1.0),
}


def alive():
    gc.collect()
    # By `type`: `isinstance` asks `__class__`, which raises for a weak proxy of what is gone.
    return sum(type(thing) is ClosedJaxpr for thing in gc.get_objects())


@pytest.mark.parametrize("name", WORK)
def test_programs_are_freed(name):
    with tangrad.use_backend("numpy"):
        WORK[name](3)
        before = alive()
        for i in range(20):
            WORK[name](4 + i)
        assert alive() - before < 10


def test_what_a_program_closed_over_is_freed():
    def program():
        table = np.arange(100.0)
        f = tangrad.jit(lambda x: (x * table).sum())
        tangrad.vjp(f, 2.0)[1](1.0)
        return weakref.ref(table)

    with tangrad.use_backend("numpy"):
        kept = program()
        gc.collect()
        assert kept() is None
