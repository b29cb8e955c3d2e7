"""Many threads at once: one compilation per signature, right answers, transformations that stay apart."""

import threading
import time

import numpy
import pytest

import tangrad
import tangrad.numpy as np

THREADS = 32


def in_threads(work):
    """Run `work(number)` in many threads that start together; raise what any of them raised."""
    barrier, errors = threading.Barrier(THREADS), []

    def run(number):
        barrier.wait(timeout=300)
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]


@pytest.fixture(params=["numpy", "xla"])
def backend(request):
    tangrad.config.update("backend", request.param)
    yield request.param
    tangrad.config.update("backend", None)


def test_one_compilation_for_the_first_call(backend):
    from tangrad.core import get_backend

    compiled = []
    chosen = get_backend(backend)
    original = chosen.compile

    def counting(*args, **kwargs):
        compiled.append(1)
        return original(*args, **kwargs)

    f = tangrad.jit(lambda x: np.tanh(x) @ x.T + 1.0)
    x = np.arange(12.0).reshape(3, 4)
    expected = numpy.tanh(numpy.asarray(x)) @ numpy.asarray(x).T + 1
    chosen.compile = counting
    try:

        def work(number):
            for _ in range(5):
                assert numpy.allclose(f(x), expected, rtol=1e-5)

        in_threads(work)
    finally:
        del chosen.compile
    assert len(compiled) == 1 and f._cache_size() == 1


def test_transformations_in_threads_do_not_mix(backend):
    def work(number):
        scale = float(number + 1)
        g = tangrad.jit(tangrad.vmap(tangrad.grad(lambda x: scale * x**2)))
        for _ in range(3):
            assert g(np.arange(4.0)).tolist() == [2 * scale * i for i in range(4)]
            assert float(tangrad.grad(lambda x: scale * np.sin(x))(0.0)) == scale
            with tangrad.enable_x64(number % 2 == 0):
                assert np.ones(1, float).dtype == (numpy.float64 if number % 2 == 0 else numpy.float32)

    in_threads(work)


def test_eager_work_in_threads(backend):
    def work(number):
        x = np.full((8,), float(number))
        for _ in range(50):
            assert float((x * 2.0 + 1.0).sum()) == 8 * (2 * number + 1)

    in_threads(work)


def test_callbacks_that_compute(backend):
    """More of them at a time than XLA runs programs on the host."""

    def host(x):
        time.sleep(0.02)  # until all are here
        return x * 2.0 + 1.0

    f = tangrad.jit(lambda x: tangrad.pure_callback(host, x, x) + 1.0)

    def work(number):
        for _ in range(3):
            assert float(f(np.float32(number))) == 2 * number + 2

    in_threads(work)


def test_settings_are_local_to_threads():
    seen = {}

    def work(number):
        with tangrad.numpy_rank_promotion("raise" if number % 2 else "allow"):
            seen[number] = tangrad.config.numpy_rank_promotion

    in_threads(work)
    assert set(seen.values()) == {"raise", "allow"} and tangrad.config.numpy_rank_promotion == "allow"
