"""The pytest plugin of the conformance kit, and its command, in processes of their own."""

import subprocess
import sys

PASSING = "[pytest]\ntangrad_conformance = tangrad-batching\nfilterwarnings = error\n"


def run(folder, *arguments):
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def test_one_line_of_configuration_checks_a_distribution(tmp_path):
    (tmp_path / "pytest.ini").write_text(PASSING)
    done = run(tmp_path, "pytest", "-q", "--tangrad-html", "page.html", "--tangrad-everywhere", "0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout and "cells checked" in done.stdout
    page = (tmp_path / "page.html").read_text()
    assert "move_axis" in page and "family batching" in page and "Everything passes." in page
    assert "http:" not in page and "https:" not in page and " src=" not in page


def test_a_backend_is_checked_with_all_primitives(tmp_path):
    lines = [
        "[pytest]",
        "tangrad_conformance = *",
        "tangrad_conformance_checks = effects",
        "tangrad_conformance_backends = numpy",
    ]
    (tmp_path / "pytest.ini").write_text("\n".join(lines))
    done = run(tmp_path, "pytest", "-q", "--collect-only")
    assert "elementwise.sin" in done.stdout and "batching.move_axis" in done.stdout, done.stderr
    (tmp_path / "pytest.ini").write_text("\n".join(lines).replace("*", "tangrad-batching"))
    done = run(tmp_path, "pytest", "-q", "-v")
    assert "3 passed" in done.stdout and "cells checked" in done.stdout, done.stderr
    (tmp_path / "pytest.ini").write_text("\n".join(lines).replace("effects", "nothing").replace("*", "tangrad-jit"))
    done = run(tmp_path, "pytest", "-q")
    assert done.returncode == 1 and "there is no check 'nothing'" in done.stdout


def test_a_distribution_that_is_not_there_is_named(tmp_path):
    (tmp_path / "pytest.ini").write_text(PASSING.replace("tangrad-batching", "nowhere"))
    done = run(tmp_path, "pytest", "-q")
    assert done.returncode != 0 and "nowhere" in done.stdout + done.stderr


def test_the_command_checks_one_primitive(tmp_path):
    done = run(tmp_path, "tangrad.conformance", "structure.rev", "--check", "batch", "--sample", "0")
    assert done.returncode == 0 and " 0 failed" in done.stdout, done.stderr
    done = run(tmp_path, "tangrad.conformance", "structure.nothing")
    assert done.returncode == 2 and "nothing" in done.stderr
