"""The harness itself: it measures, compares, survives failures and says so. No assertion here is about time."""

import json
import math
import subprocess
import sys

import pytest

from . import cli, cliff_table, driver, hlo, measure, processes, programs, report, rows, sides
from .pool import WorkerError, WorkerPool

IN_WORKERS = ("loop", "once")


@pytest.fixture(scope="module")
def numpy_pool(tmp_path_factory):
    pool = WorkerPool(tmp_path_factory.mktemp("bench"))
    yield pool
    pool.close()


def test_every_loop_row_has_a_program():
    table = programs.program_table()
    for row in rows.all_rows():
        if row.kind in IN_WORKERS:
            assert row.program in table
        if row.kind == "process":
            known = processes.WORK.keys() | programs.fresh_processes.SEVERAL_PROCESSES.keys()
            assert row.program in known
            assert all((peer.program or row.program) in known for peer in row.peers)


def test_every_program_is_in_a_row():
    assert set(programs.program_table()) == {row.program for row in rows.all_rows() if row.kind in IN_WORKERS}


def test_titles_are_unique_and_limits_positive():
    titles = [row.title for row in rows.all_rows()]
    assert len(titles) == len(set(titles))
    assert all(peer.limit > 0 and peer.side in sides.SIDES for row in rows.all_rows() for peer in row.peers)


def test_a_fresh_case_gets_a_new_function_for_each_call():
    seen = []
    case = measure.Case(seen.append, fresh=object)
    measure.loop_seconds(case, 5)
    assert len({id(function) for function in seen}) == 5


def test_best_call_seconds_counts_calls_and_finishes():
    calls, finished = [], []
    case = measure.Case(lambda: calls.append(1), finish=finished.append)
    assert 0 < measure.best_call_seconds(case, 10, 0.0) < 1
    assert len(calls) == 10 * measure.LEAST_LOOPS
    assert len(finished) == measure.LEAST_LOOPS
    assert measure.calls_in_a_loop(case, 1e-4) >= 1


def test_worker_samples_and_profiles(numpy_pool):
    program = "jitted MLP gradient 64x64-64-10"
    assert numpy_pool.ask("numpy", do="sample", program=program, seconds=0.001, clock="wall")["seconds"] > 0
    assert "manual_gradient" in numpy_pool.ask("numpy", do="profile", program=program)["profile"]


def test_worker_reports_errors_and_lives_on(numpy_pool):
    with pytest.raises(WorkerError, match="AttributeError"):
        numpy_pool.ask("numpy", do="sample", program="jit dispatch: one array", seconds=0.001, clock="cpu")
    with pytest.raises(WorkerError, match="KeyError"):
        numpy_pool.ask("numpy", do="sample", program="no such program", seconds=0.001, clock="cpu")
    assert numpy_pool.workers["numpy"].alive


def test_dead_worker_is_reported_and_replaced(numpy_pool):
    program = "jitted MLP gradient 64x64-64-10"
    numpy_pool.ask("numpy", do="equations", program=program)
    first = numpy_pool.workers["numpy"].process
    first.kill()
    first.wait()
    assert numpy_pool.ask("numpy", do="equations", program=program) == {"equations": 1}
    assert numpy_pool.workers["numpy"].process is not first


def numpy_row(**changes):
    name = "jitted MLP gradient 64x64-64-10"
    fields = {"name": name, "subject": "numpy", "program": name, "peers": (rows.Peer("numpy", 1e6),)}
    return rows.Row(**(fields | changes))


@pytest.fixture
def quick_driver(monkeypatch):
    monkeypatch.setitem(rows.BACKEND_LETTER, "numpy", "-")
    running = driver.Driver(rounds=2, seconds=0.001, peer_python=cli.sys.executable)
    yield running
    running.close()


def test_driver_judges_ratio_and_value(quick_driver):
    over = numpy_row(peers=(rows.Peer("numpy", 1e-6),))
    imports = numpy_row(program="import", kind="process", unit="bytes", judge="value", peers=(rows.Peer("numpy", 1.0),))
    printed = []
    results = quick_driver.run([numpy_row(), over, imports], printed.append)
    assert [result.verdict for result in results] == ["OK", "OVER", "OVER"]
    assert len(printed) == 3
    assert results[2].judged == results[2].subject > 1e6
    assert "1 OK, 2 OVER" in report.summary(results)


def test_failing_sides_are_errors_not_passes(quick_driver):
    subject_fails = numpy_row(program="jit dispatch: one array")
    peer_fails = numpy_row(peers=(rows.Peer("numpy", 1.0, "no such program"), rows.Peer("numpy", 1e6)))
    results = quick_driver.run([subject_fails, peer_fails], lambda message: None)
    assert [result.verdict for result in results] == ["ERROR", "ERROR", "OK"]
    assert "AttributeError" in report.remark(results[0])


def test_reports(quick_driver):
    results = quick_driver.run([numpy_row()], lambda message: None)
    assert "OK" in report.text_table(results)
    assert report.markdown_table(results).count("\n") == 2
    written = json.loads(report.as_json(results))["results"][0]
    assert written["verdict"] == "OK" and written["peer"] == "numpy"


@pytest.mark.parametrize("value, shown", [(1.5, "1.5 s"), (0.0321, "32.1 ms"), (4.5e-6, "4.5 µs"), (3e-9, "3 ns")])
def test_show_seconds(value, shown):
    assert report.show_seconds(value) == shown


def steady_result(judged):
    row = numpy_row(name="steady state: x", compare_hlo=True)
    return driver.Result(row, "jax", 1.02, judged=judged)


def test_geometric_mean():
    row = rows.GEOMETRIC_MEAN
    (result,) = driver.geometric_mean(row, [steady_result(0.5), steady_result(2.0)])
    assert math.isclose(result.judged, 1.0) and result.row is row
    (missing,) = driver.geometric_mean(row, [steady_result(0.5), steady_result(None)])
    assert missing.verdict == "ERROR"
    assert driver.geometric_mean(row, [])[0].verdict == "ERROR"


def test_the_best_of_the_peers():
    workloads = [row for row in rows.all_rows() if row.name.startswith(report.PREFIX)]
    assert len(workloads) == 2 * 36
    row = next(row for row in workloads if row.name == "peers: sort" and row.backend == "X")
    assert [peer.side for peer in row.peers] == list(report.PEERS)
    assert [peer.side for peer in rows.without_torch(row).peers] == ["jax", "numpy"]
    results = [
        driver.Result(row, peer, 1.02, subject=0.002, peer=0.002 / ratio, judged=ratio)
        for peer, ratio in (("jax", 0.5), ("numpy", 2.0))
    ]
    missing = driver.Result(row, "torch", 1.02, error="no interpreter")
    table = report.best_table([*results, missing])
    assert "| sort | 2 | – | 4 | 1 | – | 2 | – |" in table
    assert table.endswith("X: 0 of 1 within 1.02")
    assert report.best_table([missing]) == ""


ONE_HLO = """HloModule jit_f, entry_computation_layout={(f32[3]{0})->f32[3]{0}}

FileNames
1 "one.py"

%fused (p: f32[3]) -> f32[3] {
  %p = f32[3]{0} parameter(0)
  ROOT %sin.1 = f32[3]{0} sine(%p), metadata={op_name="jit(f)/sin {x}" stack_frame_id=2}
}
"""
OTHER_HLO = """HloModule jit_other, entry_computation_layout={(f32[3]{0})->f32[3]{0}}

%fused.7 (q: f32[3]) -> f32[3] {
  %q = f32[3]{0} parameter(0)
  ROOT %sine.4 = f32[3]{0} sine(%q)
}
"""


def test_hlo_without_names_is_equal():
    assert hlo.normalised(ONE_HLO) == hlo.normalised(OTHER_HLO)
    assert hlo.first_difference(hlo.normalised(ONE_HLO), hlo.normalised(OTHER_HLO)) == ""


def test_hlo_that_differs_is_seen():
    changed = hlo.normalised(OTHER_HLO.replace("sine(", "cosine("))
    assert "cosine" in hlo.first_difference(hlo.normalised(ONE_HLO), changed)


ORDERED = """%add (p: f32[], q: f32[]) -> f32[] {
  %p = f32[] parameter(0)
  %q = f32[] parameter(1)
  ROOT %s = f32[] subtract(%p, %q)
}

ENTRY %main (x: f32[3], y: f32[3]) -> f32[] {
  %x = f32[3]{0} parameter(0)
  %y = f32[3]{0} parameter(1)
  %a = f32[3]{0} sine(%x)
  %b = f32[3]{0} cosine(%y)
  ROOT %r = f32[] fusion(%a, %b), kind=kLoop, calls=%add
}"""


def test_order_does_not_matter_to_the_graph():
    lines = ORDERED.splitlines()
    lines[9], lines[10] = lines[10], lines[9]
    swapped = (
        "\n".join(lines).replace("fusion(%a, %b)", "fusion(%b, %a)").replace("subtract(%p, %q)", "subtract(%q, %p)")
    )
    assert hlo.same_graph(ORDERED, swapped)
    assert not hlo.same_graph(ORDERED, ORDERED.replace("fusion(%a, %b)", "fusion(%b, %a)"))
    assert not hlo.same_graph(ORDERED, ORDERED.replace("sine(%x)", "sine(%y)"))
    assert not hlo.same_graph("garbage", ORDERED)


def test_fake_distributions_are_found_by_metadata(tmp_path):
    from importlib.metadata import distributions

    processes.write_fake_distributions(tmp_path, 3)
    found = sorted(item.name for item in distributions(path=[str(tmp_path)]))
    assert found == ["tangrad-sample0", "tangrad-sample1", "tangrad-sample2"]
    assert all(len(item.entry_points) == 5 for item in distributions(path=[str(tmp_path)]))


def test_command_line(capsys):
    assert cli.main(["--list", "--only", "jit dispatch"]) == 0
    assert "jit dispatch: dict of 20 (X)" in capsys.readouterr().out
    assert cli.main(["--only", "no such row"]) == 2
    with pytest.raises(SystemExit):
        cli.main(["--rounds", "0"])


def test_peer_only_has_no_tangrad():
    for row in cli.chosen_rows(None, peer_only=True):
        assert not row.subject.startswith("tangrad")
        assert not any(peer.side.startswith("tangrad") for peer in row.peers)


def test_a_session_of_shapes_counts_its_programs():
    pytest.importorskip("jaxlib")
    command = [sys.executable, "-m", "tests.benchmarks.shapes", "--lengths", "4", "--every", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stdout.replace(",", "").splitlines()  # of thousands: how much memory is resident is the machine's
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [(row[0], row[3]) for row in rows[2:]] == [("0", "0"), ("2", "6"), ("4", "12")]
    assert all(int(row[1]) <= int(row[2]) + 1 for row in rows[2:])


def test_the_table_of_everyday_code_takes_what_was_measured():
    page = f"""before

{cliff_table.HEAD}
|---|---:|---:|---:|---:|---:|---:|---:|---:|
| `x[i]` | 3 ms | 2 ms | 1.50 | 1, 2 | 4 µs | 2 µs | 2.00 | 17.2 |
| `x + i` | 3 ms | 2 ms | 1.60 | 1, 1 | 4 µs | 4 µs | 1.00 | – |

after"""
    measured = {"subject": 3e-6, "peer_value": 6e-6, "judged": 0.5, "compilations": [0, 1]}
    results = [
        {"work": "again: x[i]", "backend": "X", **measured},
        {"work": "again: x[i]", "backend": "N", **measured, "judged": 2.04},
        {"work": "cliff: x + i", "backend": "X", **measured},
        {"work": "cliff: elsewhere", "backend": "X", **measured},
    ]
    assert cliff_table.over(page) == ["again (X) `x[i]` 2.00", "again (N) `x[i]` 17.2", "cliff (X) `x + i` 1.60"]
    made = cliff_table.with_results(page, results)
    assert "| `x[i]` | 3 ms | 2 ms | 1.50 | 1, 2 | 3 µs | 6 µs | 0.50 | 2.0 |" in made
    assert "| `x + i` | 3 µs | 6 µs | 0.50 | 0, 1 | 4 µs | 4 µs | 1.00 | – |" in made
    assert made.endswith("\n\nafter") and not cliff_table.over(made)
    with pytest.raises(ValueError, match="no table"):
        cliff_table.with_results("nothing", results)
