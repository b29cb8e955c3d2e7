"""A program that is interrupted at random points, and says whether anything was lost: `interrupted.py KIND COUNT SEED`.

KIND is "signal" (KeyboardInterrupt from a handler) or "sent" (an exception that another thread sends). Each round runs
work that traces, compiles, differentiates and maps, is interrupted somewhere in it, and then does the same work whole.
Meanwhile threads register and take back plugins; how many is the fourth argument.
"""

import ctypes
import random
import signal
import sys
import threading
import time
import warnings

import numpy

import tangrad
import tangrad.numpy as np
from tangrad import lax
from tangrad.core import EVAL_TRACE, PrimitiveSet, RuleSet, ShapedArray, composition, register, thread
from tangrad.core.settings import cache_context

warnings.simplefilter("error")


class Sent(BaseException):
    """What another thread sends."""


def work(number: int) -> list[float]:
    """New functions each time, so that something is traced and compiled; the results depend on the number."""

    def step(carry, x):
        return carry * 0.5 + np.sin(x) * number, carry

    def f(x):
        return lax.scan(step, x[0], x)[0] + (x**2).sum()

    x = np.arange(3.0)
    value, gradient = tangrad.jit(tangrad.value_and_grad(f))(x)
    mapped = tangrad.vmap(lambda y: np.where(y > 1, y * number, -y))(x)
    eager = tangrad.grad(lambda y: (y * y * number).sum())(x)
    return [float(value), *gradient.tolist(), *mapped.tolist(), *eager.tolist()]


def expected(number: int) -> list[float]:
    x, carry = numpy.arange(3.0), 0.0
    gradient = 2 * x + numpy.array([0.25, 0.5, 1.0]) * numpy.cos(x) * number
    gradient[0] += 0.125
    for entry in x:
        carry = carry * 0.5 + numpy.sin(entry) * number
    return [carry + 5.0, *gradient, *numpy.where(x > 1, x * number, -x), *(2 * x * number)]


def check(number: int) -> None:
    assert thread.trace is EVAL_TRACE, "a trace was left behind"
    assert cache_context() == CONTEXT, "a setting was left behind"
    numpy.testing.assert_allclose(work(number), expected(number), rtol=1e-5, atol=1e-6)


def same_type(x):
    return ShapedArray(x.shape, x.dtype)


def plugins(stop: threading.Event, name: str, errors: list[BaseException]) -> None:
    """Register and take back a family with a rule, and use it in between."""
    try:
        while not stop.is_set():
            family = PrimitiveSet(name, api=1)
            doubled = family.primitive(same_type, name="doubled", decompose=lambda x: x + x)
            rules = RuleSet("jvp", api=1)
            rules.rule(doubled)(lambda primals, tangents: (primals[0], tangents[0] * 3.0))
            with register(family), register(rules):
                assert float(tangrad.jvp(doubled, (np.float32(2.0),), (np.float32(1.0),))[1]) == 3.0
            assert composition().find("tangrad.primitives", name) is None
            stop.wait(0.05)
    except BaseException as error:
        errors.append(error)


def interrupt_by_signal(generator: random.Random, longest: float, number: int) -> bool:
    delay = max(generator.uniform(0, longest), 1e-6)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, delay)
            work(number)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        return True
    return False


def interrupt_by_thread(generator: random.Random, longest: float, number: int) -> bool:
    identity, started, caught = threading.get_ident(), threading.Event(), False
    ended = threading.Lock()
    is_over = []

    def send() -> None:
        started.wait()
        time.sleep(generator.uniform(0, longest))
        with ended:
            if not is_over:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(identity), ctypes.py_object(Sent))

    sender = threading.Thread(target=send)
    sender.start()
    try:
        try:
            started.set()
            work(number)
        finally:
            with ended:
                is_over.append(True)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(identity), None)
    except Sent:
        caught = True
    sender.join(60)
    return caught


def main(kind: str, count: int, seed: int, crowd: int) -> None:
    generator = random.Random(seed)
    sys.setswitchinterval(1e-5)  # or the thread that sends would be heard when the work is over
    check(1)  # what is imported and compiled once
    begun = time.perf_counter()
    check(2)
    longest = 1.1 * (time.perf_counter() - begun)
    stop, errors = threading.Event(), []
    threads = [threading.Thread(target=plugins, args=(stop, f"family_{i}", errors)) for i in range(crowd)]
    for one in threads:
        one.start()
    if kind == "signal":
        signal.signal(signal.SIGALRM, signal.default_int_handler)
    interrupt = interrupt_by_signal if kind == "signal" else interrupt_by_thread
    hits, number = 0, 2
    while hits < count and not errors:
        number += 1
        hits += interrupt(generator, longest, number)
        check(number)
    stop.set()
    for one in threads:
        one.join(60)
        assert not one.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]
    check(number + 1)
    print(f"{hits} interrupts in {number - 2} rounds, nothing lost")


CONTEXT = cache_context()
if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
