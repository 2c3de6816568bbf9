"""The comparison of `cargo xtask bench`: rounds, verdicts, repetitions, and what is written of them."""

import itertools
import sys
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "crates/usm-bench/python/compare"))
# Drawings need matplotlib, which is not in the environment of the tests, and the page needs Markdown.
drawings = dict.fromkeys(["shares", "growth", "samples"], lambda _: "<svg></svg>")
sys.modules["draw"] = types.SimpleNamespace(**drawings, page="".join)

import measure  # noqa: E402
import report  # noqa: E402
from judge import Bound, Goals, State, better, judge  # noqa: E402
from machine import Machine  # noqa: E402
from record import Case, Contender, Summary, ratios, readable, summary  # noqa: E402

pytestmark = [pytest.mark.indifferent, pytest.mark.lengthy]


def case(name, x=None, size=0, **contenders):
    """Contenders by their samples; a text is the reason why there are none."""
    made = [Contender(who, *([[], found] if isinstance(found, str) else [found])) for who, found in contenders.items()]
    return Case(name, size, "ns", x, made)


def by_name(*cases):
    return {case.name: case for case in cases}


# Statistics.


def test_quartiles_lie_between_samples():
    assert summary([4.0, 1.0, 3.0, 2.0, 5.0]) == Summary(2.0, 3.0, 4.0)
    assert summary([1.0, 2.0]).median == 1.5
    assert summary([7.0]) == Summary(7.0, 7.0, 7.0)
    assert summary([]) is None
    assert summary([1.0, float("nan")]) is None


def test_ratios_are_taken_round_by_round():
    # The middle round was disturbed, for both.
    found = ratios(Contender("usm", [2.0, 200.0, 2.0]), Contender("C", [1.0, 100.0, 1.0]))
    assert found == Summary(2.0, 2.0, 2.0)


def test_summaries_are_apart_when_their_halves_are():
    one = Summary(1.0, 2.0, 3.0)
    assert not one.is_apart_from(Summary(2.5, 3.0, 4.0))
    assert one.is_apart_from(Summary(3.5, 3.6, 4.0))
    assert one.is_apart_from(Summary(0.1, 0.2, 0.3))


def test_numbers_have_the_unit_that_suits_them():
    numbers = [(43.21, "ns"), (1250.0, "ns"), (0.4, "ns"), (20 << 20, "B"), (1.1, "×")]
    assert [readable(*number) for number in numbers] == ["43.2 ns", "1.25 µs", "0.40 ns", "20.0 MiB", "1.10 ×"]


# Rounds.


@pytest.mark.parametrize("count", range(6))
def test_each_contender_has_one_turn_in_each_round_and_follows_all_others(count):
    followed, last = {}, None
    for order in itertools.islice(measure.orders(count), 1000):
        assert sorted(order) == list(range(count))
        for who in order:
            followed[last, who] = followed.get((last, who), 0) + 1
            last = who
    for before, who in itertools.permutations(range(count), 2):
        assert followed[before, who] == pytest.approx(1000 / (count - 1), rel=0.25)
    assert count == 1 or not any((who, who) in followed for who in range(count))


def program(processes):
    """A program with one case, whose samples are its number in the system."""
    described = {"case": "a/b", "bytes": 0, "unit": "", "once": True, "processes": processes}
    answers = {"list": f"{[described]!r}", "open": "[{'name': 'usm'}]", "close": "{}"}
    script = (
        "import json, os, sys\n"
        f"answers = {answers!r}\n"
        "for line in sys.stdin:\n"
        "    request = line.split()[0]\n"
        "    print(json.dumps(os.getpid() if request == 'run' else eval(answers[request])), flush=True)\n"
    )
    return measure.Worker([sys.executable, "-c", script])


@pytest.mark.parametrize(
    ("processes", "effort", "expected", "count"),
    [
        ([1], measure.FULL, 1, 31),
        ([5], measure.FULL, 5, 35),
        ([5], measure.QUICK, 1, 15),
        ([1, 5], measure.FULL, 5, 35),
    ],
)
def test_a_case_is_measured_by_as_many_processes_as_it_says(processes, effort, expected, count):
    bench = measure.Bench([program(number) for number in processes], effort)
    first, again = (set(), set())
    for found, run in [(first, bench.measure), (again, bench.again)]:
        (measured,) = run(bench.chosen(""))
        assert [contender.missing for contender in measured.contenders] == [None] * len(processes)
        assert len(measured.contenders[0].samples) == count
        found.update(measured.contenders[0].samples)
    assert len(first) == expected
    assert not first & again, "a repetition is by new programs"
    bench.stop()


def test_a_program_that_fails_starts_again():
    script = "import sys, time; print('[]', flush=True) if 'never' not in input() else time.sleep(60); input(); exit(3)"
    worker = measure.Worker([sys.executable, "-c", script])
    assert worker.ask("list") == []
    with pytest.raises(measure.WorkerError, match=r"list: the program ended: 3"):
        worker.ask("list")
    worker.patience = 1.0
    with pytest.raises(measure.WorkerError, match=r"open never: no answer within 1 s"):
        worker.ask("open", "never")
    worker.patience = measure.PATIENCE
    assert worker.ask("list") == []
    worker.stop()
    assert worker.ask("list") == [], "a new one, since the second request ends it"
    worker.stop()


@pytest.mark.parametrize(("first", "second"), [([1.0], "why"), ("why", [1.0]), ("why", "why")])
def test_who_failed_in_one_process_has_no_samples(first, second):
    joined = case("a/b", usm=first)
    measure.join(joined, case("a/b", usm=second))
    assert joined.contenders == [Contender("usm", [], "why")]


def test_samples_of_processes_follow_each_other():
    joined = case("a/b", usm=[1.0, 2.0])
    measure.join(joined, case("a/b", usm=[3.0]))
    assert joined.contenders[0].samples == [1.0, 2.0, 3.0]
    measure.join(joined, case("a/b"))
    assert joined.contenders[0].missing


# Cases on a device.


def slow_program(tmp_path):
    """A program with two cases of two contenders, `usm` slow, whose first case leaves it unusable."""
    starts = tmp_path / "starts"
    described = [{"case": name, "bytes": 0, "unit": "ns"} for name in ("a/b", "a/c")]
    script = (
        "import json, sys, time\n"
        f"open({str(starts)!r}, 'a').write('.')\n"
        "for line in sys.stdin:\n"
        "    request, *rest = line.split()\n"
        "    time.sleep(0.2 if request == 'run' and rest[0] == 'usm' else 0)\n"
        f"    answers = {{'list': {described!r}, 'open': [{{'name': 'usm'}}, {{'name': 'C'}}], 'run': 2e8}}\n"
        "    print(json.dumps(answers.get(request, {'restart': True})), flush=True)\n"
    )
    return measure.Worker([sys.executable, "-c", script]), starts


def test_a_slow_contender_takes_few_samples_and_a_broken_program_starts_anew(tmp_path):
    worker, starts = slow_program(tmp_path)
    bench = measure.Bench([worker], measure.Effort(sample_ns=1.0, rounds=5, contender_seconds=0.3))
    cases = bench.measure(bench.chosen(""))
    bench.stop()
    for one in cases:
        assert [len(contender.samples) for contender in one.contenders] == [1, 5]
    assert starts.read_text() == "..", "the second case is measured by a new program"


def test_no_case_begins_after_the_limit(tmp_path):
    worker, _ = slow_program(tmp_path)
    bench = measure.Bench([worker], measure.Effort(sample_ns=1.0, rounds=1, limit=0.1))
    first, second = bench.measure(bench.chosen(""))
    bench.stop()
    assert first.contenders[0].samples
    assert [one.missing for one in second.contenders] == ["the 0 s of the run were over"]


# Goals.

GOALS = """
[[goal]]
row = "times"
cases = ["a/b", "a/none", "a/unknown", "left/out"]
at_most = "1 µs"
[[goal]]
row = "ratios"
cases = ["a/b"]
at_most = "1.5 × C"
[[goal]]
row = "differences"
cases = ["a/b"]
at_most = "900 ns over C"
[[growth]]
row = "series"
series = ["s/x"]
contender = "usm"
from = "1"
to = "4"
per_byte = true
at_most = 1.2
"""


def judged(goals, *cases):
    measured = by_name(*cases)
    return judge(Goals.parse(goals), measured, [*measured, "left/out"])


def test_the_committed_goals_are_read():
    goals = Goals.parse((ROOT / "crates/usm-bench/goals.toml").read_text())
    assert goals.yardstick and all(goal.cases for goal in goals.goals) and all(one.series for one in goals.growth)
    for goal in goals.goals:
        if goal.floor:
            assert (goal.floor.times, goal.floor.over) == (goal.at_most.times, goal.at_most.over), goal.row
            assert goal.floor.value > goal.at_most.value and goal.why, goal.row
    for one in goals.growth:
        assert one.floor is None or (one.floor > one.at_most and one.why), one.row


def test_the_committed_goals_of_devices_are_read():
    goals = Goals.parse((ROOT / "crates/usm-bench/goals-cuda.toml").read_text())
    assert goals.ahead_of == ["CuPy", "PyTorch"] and not goals.yardstick
    assert {goal.at_most.times for goal in goals.goals if goal.at_most.is_part} == {"memcpy", "memset", "pinned memory"}


PARTS = """
[peers]
ahead_of = ["CuPy"]
noise = 1.1
[[goal]]
row = "parts"
cases = ["a/b", "a/c"]
at_least = "0.8 of memcpy"
limit = ["0.9", "0.95"]
"""


@pytest.mark.parametrize(
    ("ours", "cupy", "states", "found"),
    [
        ([10.0], [20.0], [State.REACHED, State.REACHED], "0.80 of memcpy"),
        ([10.5], [20.0], [State.MISSED, State.REACHED], "0.76 of memcpy"),
        ([9.0], [8.0], [State.REACHED, State.MISSED], "0.89 of memcpy"),
        # A peer that was not measured is none to be ahead of.
        ([9.0], "no GPU", [State.REACHED], "0.89 of memcpy"),
    ],
)
def test_parts_of_a_plain_copy_and_peers(ours, cupy, states, found):
    verdicts = judged(PARTS, case("a/b", usm=ours, CuPy=cupy, memcpy=[8.0]), case("a/c", usm="why", memcpy=[8.0]))
    of_case = [verdict for verdict in verdicts if verdict.case == "a/b"]
    assert [verdict.state for verdict in of_case] == states
    assert (of_case[0].found, of_case[0].bound, of_case[0].limit) == (found, "≥ 0.8 of memcpy", "0.9")
    assert of_case[0].share.median == pytest.approx(0.8 * ours[0] / 8.0)
    (failed,) = [verdict for verdict in verdicts if verdict.case == "a/c"]
    assert (failed.state, failed.limit) == (State.UNMEASURED, "0.95")


def test_limits_are_for_each_case_or_for_all():
    with pytest.raises(ValueError, match="3 limits for 2 cases"):
        Goals.parse(PARTS.replace('"0.95"', '"0.95", "1.0"'))
    assert Goals.parse(PARTS.replace(', "0.95"', "")).goals[0].limit == ["0.9", "0.9"]


def test_bounds_are_read_as_they_are_written():
    bound = Bound.parse("1.15 × usm in Rust")
    assert (bound.value, bound.times, bound.is_time) == (1.15, "usm in Rust", False)
    bound = Bound.parse("20 ms over the interpreter")
    assert (bound.value, bound.over, bound.is_time) == (2e7, "the interpreter", False)
    assert (Bound.parse("0.25 µs").value, Bound.parse("0.25 µs").is_time) == (250.0, True)
    assert (Bound.parse("20 MiB").value, Bound.parse("20 MiB").is_time) == (20 << 20, False)
    assert (Bound.parse("1.15 ×").value, Bound.parse("1.15 ×").times) == (1.15, "")


def test_parts_are_bounds():
    bound = Bound.parse("0.8 of pinned memory")
    assert (bound.value, bound.times, bound.is_part, bound.is_time) == (1.25, "pinned memory", True, False)


@pytest.mark.parametrize(
    "text", ["", "fast", "of memcpy", "1.15", "3 parsecs", "20 ms under C", "20 ms over", "2 × over", "1..5 ×"]
)
def test_other_bounds_are_refused(text):
    with pytest.raises(ValueError):
        Bound.parse(text)


def test_every_goal_has_a_verdict():
    verdicts = judged(
        GOALS,
        case("a/b", usm=[900.0, 1800.0], C=[450.0, 900.0]),
        case("a/none", usm="no attribute"),
        case("s/x/1", 1.0, 10, usm=[10.0]),
        case("s/x/4", 4.0, 40, usm=[44.0]),
    )
    unmeasured, missed, reached = State.UNMEASURED, State.MISSED, State.REACHED
    expected = [missed, unmeasured, unmeasured, State.LEFT_OUT, missed, reached, reached]
    assert [verdict.state for verdict in verdicts] == expected
    assert verdicts[1].found == "usm: no attribute"
    assert verdicts[2].found == "there is no case 'a/unknown' yet"
    assert verdicts[4].found == "2.00 × C"
    assert verdicts[6].at_most == "1.2 × that at 1 for each byte"
    assert verdicts[6].share.median == pytest.approx(1.1 / 1.2)


PACED = """
[[goal]]
row = "times"
cases = ["a/b"]
at_most = "1 µs"
[[goal]]
row = "ratios"
cases = ["a/b"]
at_most = "7 × NumPy"
[pace]
contender = "NumPy"
took = "100 ns"
"""


@pytest.mark.parametrize(
    ("ours", "yardstick", "state", "pace"),
    [
        ([900.0], [200.0], State.REACHED, 2.0),
        ([1500.0], [200.0], State.PACED, 2.0),
        ([2100.0], [200.0], State.MISSED, 2.0),
        # On a faster machine the bound stays.
        ([1500.0], [50.0], State.MISSED, 1.0),
        # A disturbance of a round affects both.
        ([900.0, 9000.0, 9900.0], [90.0, 1000.0, 1000.0], State.PACED, 10.0),
    ],
)
def test_bounds_that_are_times_are_longer_on_a_slower_machine(ours, yardstick, state, pace):
    time, ratio = judged(PACED, case("a/b", usm=ours, NumPy=yardstick))
    assert (time.state, time.at_most, time.pace) == (state, "1 µs", pace)
    assert ratio.pace is None and (ratio.state is State.REACHED) == (ours[0] <= 7 * yardstick[0])


@pytest.mark.parametrize(
    ("floor", "growth_floor", "state"),
    [
        ("", "", State.MISSED),
        ('floor = "2 × C"', "floor = 1.5", State.AT_FLOOR),
        ('floor = "1.9 × C"', "floor = 1.4", State.MISSED),
    ],
)
def test_a_miss_within_the_floor_is_known(floor, growth_floor, state):
    goals = f"""
        [[goal]]\nrow = "r"\ncases = ["s/x/1"]\nat_most = "1.5 × C"\n{floor}
        [[growth]]\nrow = "g"\nseries = ["s/x"]\ncontender = "usm"\nfrom = "1"\nto = "2"\nat_most = 1\n{growth_floor}"""
    verdicts = judged(goals, case("s/x/1", usm=[20.0], C=[10.0]), case("s/x/2", usm=[30.0], C=[10.0]))
    assert [verdict.state for verdict in verdicts] == [state, state]
    assert [verdict.fails for verdict in verdicts] == [state is State.MISSED] * 2
    assert verdicts[1].needed == ["s/x/1", "s/x/2"]


# Repetitions.

REPEATED = """
[[goal]]
row = "calls"
cases = ["a/b", "a/c"]
at_most = "1.5 × C"
[[growth]]
row = "series"
series = ["s/x"]
contender = "usm"
from = "1"
to = "2"
at_most = 2.0
"""


def test_the_repetition_that_misses_fewer_goals_is_kept():
    goals = Goals.parse(REPEATED)
    series = [case("s/x/1", 1.0, usm=[10.0]), case("s/x/2", 2.0, usm=[30.0])]
    measured = by_name(case("a/b", usm=[20.0], C=[10.0]), case("a/c", usm=[12.0], C=[10.0]), *series)

    def again(*cases):
        return better(goals, measured, list(measured), list(cases))

    def took(name):
        return measured[name].contenders[0].samples

    # Still a miss: the first measurement stays.
    assert again(case("a/b", usm=[18.0], C=[10.0])) == set() and took("a/b") == [20.0]
    assert again(case("a/b", usm=[14.0], C=[10.0])) == {"a/b"} and took("a/b") == [14.0]
    # Both ends of a series come from the same repetition.
    assert again(case("s/x/1", 1.0, usm=[20.0]), case("s/x/2", 2.0, usm=[31.0])) == {"s/x/1", "s/x/2"}
    assert (took("s/x/1"), took("s/x/2")) == ([20.0], [31.0])


def test_a_miss_is_better_than_no_measurement():
    goals = Goals.parse(REPEATED)
    hung, missed = case("a/b", usm="no answer", C="no answer"), case("a/b", usm=[18.0], C=[10.0])
    measured = by_name(hung)
    better(goals, measured, ["a/b", "a/c"], [missed])
    assert measured["a/b"] is missed
    better(goals, measured, ["a/b", "a/c"], [hung])
    assert measured["a/b"] is missed


# What is written.


def written(quick=True, load=0.0, **contenders):
    """A report of two goals that times reach or not."""
    machine = Machine("a processor", 2, 1 << 30, load, 1.0, {"usm": "0"}, "0000000")
    cases = [case("a/b", NumPy=[100.0], **contenders), case("a/c", usm="no attribute\nmore", NumPy=[1.0])]
    goals = PACED.replace('"a/b"]', '"a/b", "a/c"]', 1).replace('"1 µs"', '"1 µs"\nwhy = "the reason"')
    made = report.Report(quick, machine, cases, ["a/b", "a/c"], [], 86400.0 * 20_778)
    made.verdicts = judge(Goals.parse(goals), by_name(*cases), made.known)
    return made


def test_a_summary_names_the_farthest_case_and_what_was_not_measured():
    text = report.summary_page(written(usm=[2000.0]), None)
    assert "3 goals: 2 missed, 1 not measured, 0 missed with a known reason, 0 reached" in text
    assert "| times | ≤ 1 µs | 0 of 2 | `a/b`, usm | 2.00 µs | 1.00 | 2.00 (2.00 … 2.00) |" in text
    assert "## Not measured\n\n- a/c: usm: no attribute\n\n" in text


def test_goals_that_need_the_pace_or_a_repetition_stand_apart():
    one = written(usm=[150.0])
    assert "only through the pace of the machine" not in report.summary_page(one, None)
    one.cases[0].contenders = [Contender("usm", [1500.0]), Contender("NumPy", [200.0])]
    one.verdicts = judge(Goals.parse(PACED), by_name(*one.cases), one.known)
    one.repeated = ["a/b"]
    text = report.summary_page(one, None)
    assert "## Reached only through the pace of the machine\n" in text
    assert "| times | `a/b` | ≤ 1 µs | 1.50 µs | 2.00 |" in text
    assert "## Kept from a repetition, since the first measurement missed\n\na/b\n" in text
    one.quick = False
    page = report.performance_page(one)
    assert "## Reached only through the pace of the machine\n" in page
    assert "| times | `a/b` | ≤ 1 µs | 1.50 µs | 2.00 |" in page


def test_changes_tell_noise_from_the_rest():
    before, now = written(usm=[90.0, 100.0, 110.0]), written(usm=[200.0])
    before.cases.append(case("gone"))
    text = report.changes(before, now)
    assert "| `a/b` | usm | 100 ns | 200 ns | 2.00 |" in text
    assert "0 others changed" in text and "No longer there: gone." in text
    assert "The other libraries take 1.00 (1.00 … 1.00) times as long" in text
    text = report.changes(before, written(usm=[105.0]))
    assert "1 others changed" in text and "| `a/b`" not in text


def test_the_performance_page_has_reasons_and_the_day():
    page = report.performance_page(written(quick=False, usm=[2000.0]))
    assert "Written by `cargo xtask bench --page`, 2026-11-21." in page
    assert "## What misses its goal\n" in page and "**times**: the reason\n" in page
    assert "| `a/b` | 2.00 µs | 0.05 |" in page
    assert "What could not be measured" not in page
    page = report.performance_page(written(quick=False, usm="no attribute"))
    assert "## What could not be measured\n" in page and "the reason" not in page


def on_device(smoke, ours):
    machine = Machine("a processor", 2, 1 << 30, 0.0, 0.0, {"usm": "0"}, "0000000", "a GPU")
    cases = [case("a/b", usm=ours, CuPy=[16.0], memcpy=[8.0]), case("a/t", usm=[900.0], PyTorch=[2000.0])]
    goals = PARTS.replace(', "a/c"', "").replace('["0.9", "0.95"]', '["0.9"]\nwhy = "the reason"')
    goals += '[[goal]]\nrow = "t"\ncases = ["a/t"]\nat_most = "1 µs"\n'
    made = report.Report(False, machine, cases, ["a/b", "a/t"], seconds_since_1970=86400.0 * 20_778, smoke=smoke)
    made.verdicts = judge(Goals.parse(goals), by_name(*cases), made.known)
    return made


def test_the_page_of_a_device_has_peers_limits_and_reasons():
    page = report.performance_page(on_device(False, [16.0]))
    assert "2026-11-21: a GPU; 2 × a processor" in page and "**parts**: the reason\n" in page
    assert "| `a/b` | 0.50 (0.50 … 0.50) | – | 0.9 | ≥ 0.8 | 0.50 (0.50 … 0.50) | missed |" in page
    assert "| `a/t` | – | 2.00 µs | – | ≤ 1 µs | 900 ns | reached |" in page
    assert "| Not slower than CuPy | ≤ 1.1 × CuPy | 1 of 1 | `a/b`, usm | 1.00 × CuPy |" in page


def test_a_smoke_run_leaves_no_figures_on_the_page():
    page = report.performance_page(on_device(True, [16.0]))
    assert "No run on a GPU is recorded here yet" in page and "a processor" not in page
    assert "| `a/b` | – | – | 0.9 | ≥ 0.8 | – | – |" in page and "| `a/t` | – | – | – | ≤ 1 µs | – | – |" in page
    assert "Not slower" not in page and "the reason" not in page


@pytest.mark.parametrize(("quick", "load", "left_out"), [(True, 0.0, 0), (False, 2.0, 0), (False, 0.0, 1)])
def test_the_performance_page_is_of_whole_runs_on_quiet_machines(quick, load, left_out):
    one = written(quick, load, usm=[2000.0])
    for verdict in one.verdicts[:left_out]:
        verdict.state = State.LEFT_OUT
    with pytest.raises(SystemExit):
        report.performance_page(one)


def test_a_report_is_read_as_it_was_written(tmp_path):
    one = written(usm=[2000.0])
    report.write(one, tmp_path, None)
    read = report.Report.read(tmp_path / "report.json")
    assert (read.cases, read.machine, read.known) == (one.cases, one.machine, one.known)
    page = (tmp_path / "report.html").read_text()
    assert "usm: no attribute" in page and "not measured: no attribute" in page and "<svg" in page
    assert not any(part in page for part in ["http", "src=", "<script", "<link"])
