"""Examples show what the NumPy backend prints: the last digit may differ on XLA."""

import pytest

import tangrad


@pytest.fixture(autouse=True)
def on_numpy():
    with tangrad.use_backend("numpy"):
        yield
