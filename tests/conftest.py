"""What every test shares: nothing is read from or written to the user's caches, and Hypothesis repeats itself."""

import os
import shutil
import tempfile

import hypothesis
import pytest

# Before anything imports tangrad: it reads its environment once. The workers of one run inherit the folder.
OWN_CACHE = None
if "TANGRAD_CACHE_DIR" not in os.environ:
    OWN_CACHE = os.environ["TANGRAD_CACHE_DIR"] = tempfile.mkdtemp(prefix="tangrad-tests-")

# Every jaxpr that is staged or transformed in a test is type-checked.
os.environ.setdefault("TANGRAD_CHECK_JAXPRS", "1")

hypothesis.settings.register_profile("house", deadline=None, derandomize=True, max_examples=50)
hypothesis.settings.load_profile("house")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the cache of this run, after its last worker has ended."""
    if OWN_CACHE is not None:
        shutil.rmtree(OWN_CACHE, ignore_errors=True)
