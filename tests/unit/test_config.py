"""Settings: read and set by name, for a block, for the calls of a function, in one thread."""

import threading

import pytest

import tangrad
from tangrad import config


def test_settings_by_name():
    before = config.read("debug_nans")
    config.update("debug_nans", True)
    try:
        assert config.read("debug_nans") is config.read("tangrad_debug_nans") is config.debug_nans is True
        assert config.values["debug_nans"] is True
    finally:
        config.update("debug_nans", before)
    assert config.values["debug_nans"] is before
    with tangrad.debug_infs(True):
        assert config.values["debug_infs"] is True
    for call in (lambda: config.read("colour"), lambda: config.update("colour", True), lambda: config.colour):
        with pytest.raises(AttributeError, match="no setting 'colour'"):
            call()


def test_a_bad_value_changes_nothing():
    for name, value in (("enable_x64", "maybe"), ("debug_nans", None), ("numpy_rank_promotion", "sometimes")):
        before = config.read(name)
        with pytest.raises((TypeError, ValueError), match=name):
            config.update(name, value)
        with pytest.raises((TypeError, ValueError), match=name), getattr(tangrad, name)(value):
            pass
        assert config.read(name) == before


def test_settings_of_a_block_are_undone_after_errors():
    with tangrad.enable_x64(True):
        with pytest.raises(KeyError), tangrad.enable_x64(False):
            assert not config.enable_x64
            raise KeyError
        assert config.enable_x64
    assert not config.enable_x64


def test_settings_of_the_calls_of_a_function():
    @tangrad.enable_x64(True)
    def count(n):
        """Counts down."""
        return [config.enable_x64, *(count(n - 1) if n else [])]

    assert count(2) == [True] * 3
    assert (count.__name__, count.__doc__) == ("count", "Counts down.")
    assert not config.enable_x64


def test_calls_of_one_function_in_two_threads_do_not_disturb_each_other():
    inside, leave = threading.Event(), threading.Event()
    seen = []

    @tangrad.enable_x64(True)
    def wait():
        inside.set()
        leave.wait(10)
        return config.enable_x64

    def run():
        seen.append(wait())
        seen.append(config.enable_x64)

    thread = threading.Thread(target=run)
    thread.start()
    inside.wait(10)
    with tangrad.enable_x64(False):
        leave.set()
        assert wait() is True
        assert not config.enable_x64
    thread.join()
    assert seen == [True, False]
    assert not config.enable_x64
