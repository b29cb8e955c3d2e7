"""The public suite of the array API standard on both backends, where a checkout of it is named.

`make array-api ARRAY_API_TESTS=folder` runs it beside NumPy; `make test-all` runs it where the variable is set.
"""

import importlib.util

import pytest

from tools.array_api import BACKENDS, SUBJECTS, VERSIONS, as_table, main, reasons, run, suite_folder


@pytest.mark.sweep
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["tangrad-numpy", "tangrad-xla"])
def test_what_fails_has_a_reason(name, version):
    subject = SUBJECTS[name]
    if importlib.util.find_spec(f"tangrad._backend_{subject.backend}.backend") is None:
        pytest.skip(f"the backend {subject.backend} is not installed")
    try:
        suite_folder()
    except LookupError as error:
        pytest.skip(str(error))
    outcome = run(subject, version, examples=20)
    expected = subject.expected_failures(version)
    assert outcome.failed <= expected, outcome.log
    assert subject.expected_failures(version, certain=True) <= outcome.failed, "tests pass that are listed as failing"
    assert outcome.count("passed") > 1300


def test_each_test_has_one_reason():
    for version in VERSIONS:
        for backend in BACKENDS:
            named = [
                test
                for reason in reasons()
                if version in reason.versions and backend in reason.backends
                for test in reason.tests
            ]
            assert len(named) == len(set(named))


@pytest.mark.parametrize("folder, message", [(None, "names no checkout"), ("empty", "has no folder array_api_tests")])
def test_where_there_is_no_suite_it_says_so(folder, message, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("ARRAY_API_TESTS", raising=False)
    if folder is not None:
        monkeypatch.setenv("ARRAY_API_TESTS", str(tmp_path))
    with pytest.raises(SystemExit, match=message):
        main(["numpy"])
    with pytest.raises(SystemExit):
        main(["cupy"])
    assert "unknown subjects cupy; there are numpy, tangrad-numpy, tangrad-xla" in capsys.readouterr().err


def test_the_suite_runs_in_a_process_of_its_own(tmp_path, monkeypatch):
    """A suite of three tests in place of the public one, which looks at what it is given."""
    (tmp_path / "array-api" / "src").mkdir(parents=True)
    (tmp_path / "array_api_tests").mkdir()
    (tmp_path / "conftest.py").write_text(
        "def pytest_addoption(parser):\n"
        "    parser.addoption('--max-examples', type=int)\n"
        "    for name in ('--disable-deadline', '--derandomize'):\n"
        "        parser.addoption(name, action='store_true')\n"
    )
    (tmp_path / "array_api_tests" / "test_it.py").write_text(
        "import importlib, os, pytest\n"
        "def test_module(request):\n"
        "    xp = importlib.import_module(os.environ['ARRAY_API_TESTS_MODULE'])\n"
        "    assert xp.ones(2).dtype == 'float64'\n"
        "    assert os.environ['ARRAY_API_TESTS_VERSION'] == '2025.12'\n"
        "    assert request.config.getoption('--max-examples') == 7\n"
        "class TestOthers:\n"
        "    def test_failing(self):\n"
        "        assert False\n"
        "    @pytest.mark.skip\n"
        "    def test_skipped(self):\n"
        "        pass\n"
    )
    monkeypatch.setenv("ARRAY_API_TESTS", str(tmp_path))
    monkeypatch.setattr("tools.array_api.REQUIRED", ())
    outcome = run(SUBJECTS["tangrad-numpy"], "2025.12", examples=7)
    assert outcome.tests == {
        "test_it::test_module": "passed",
        "test_it.TestOthers::test_failing": "failed",
        "test_it.TestOthers::test_skipped": "skipped",
    }
    assert outcome.failed == {"test_it.TestOthers::test_failing"}
    assert as_table([("it", "2025.12", outcome)]).endswith("| it | 2025.12 | 1 | 1 | 1 |")
