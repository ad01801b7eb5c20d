"""The arithmetic of the bench suite: summaries of samples, changes between runs, tables. No test reads a clock."""

import json
import random
import subprocess
import sys

import pytest

import bench_suite
from bench import compare, report, stats
from bench.results import Results, Row

pytestmark = pytest.mark.slow  # the same with every build: once is enough


def spread(middle, share, count, seed):
    dice = random.Random(seed)
    return [middle * (1 + share * (2 * dice.random() - 1)) for _ in range(count)]


def row(better="less", **samples):
    return Row("login.plain", "login", "ms", better, samples)


def test_a_summary_states_number_median_least_and_most():
    assert stats.summary([3, 1, 10, 2]) == {"n": 4, "median": 2.5, "min": 1, "max": 10}


def test_a_ratio_of_the_medians_lies_in_its_interval():
    compared = stats.ratio(spread(50, 0.03, 15, 1), spread(100, 0.03, 15, 2))
    assert compared["low"] < compared["ratio"] < compared["high"]
    assert 0.47 < compared["low"] and compared["high"] < 0.53


def test_a_round_that_is_slow_for_both_sides_makes_no_noise():
    drift = [1, 1, 3, 3, 1, 1, 3, 1, 3]
    ours, theirs = [10 * slow for slow in drift], [20 * slow for slow in drift]
    assert stats.ratio(ours, theirs) == {"ratio": 0.5, "low": 0.5, "high": 0.5, "rounds": 9}
    crossed = stats.ratio(ours, [20 * slow for slow in reversed(drift[1:] + drift[:1])])
    assert stats.is_noisy(crossed)


def test_the_same_samples_give_the_same_interval():
    ours, theirs = spread(50, 0.1, 9, 3), spread(60, 0.1, 9, 4)
    assert stats.ratio(ours, theirs) == stats.ratio(ours, theirs)


@pytest.mark.parametrize("ours, theirs, better, verdict", [
    (50, 100, "less", "ahead"), (100, 50, "less", "behind"), (100, 50, "more", "ahead"), (50, 100, "more", "behind"),
    (100, 100.5, "less", "level")])
def test_verdicts_of_steady_rows(ours, theirs, better, verdict):
    compared = stats.ratio(spread(ours, 0.02, 9, 5), spread(theirs, 0.02, 9, 6))
    assert stats.verdict(compared, better) == verdict


@pytest.mark.parametrize("ratio, low, high, better, verdict", [
    (0.10, 0.07, 0.12, "less", "ahead, size noisy"), (0.10, 0.07, 0.12, "more", "behind, size noisy"),
    (3.00, 2.00, 4.00, "less", "behind, size noisy"), (0.80, 0.50, 1.10, "less", "noisy"),
    (1.50, 1.00, 2.00, "less", "noisy"),
    # Noise begins where two runs would differ by 15 percent.
    (0.50, 0.46, 0.54, "less", "ahead"), (0.50, 0.44, 0.52, "less", "ahead, size noisy"),
    (0.50, 0.48, 0.56, "less", "ahead, size noisy"),
    # An interval around one.
    (0.96, 0.91, 1.01, "less", "level")])
def test_a_noisy_row_has_a_side_only_where_its_interval_is_on_one(ratio, low, high, better, verdict):
    assert stats.verdict({"ratio": ratio, "low": low, "high": high, "rounds": 9}, better) == verdict


def test_too_few_rounds_are_judged_only_where_nothing_varies():
    assert stats.verdict(stats.ratio([122], [154]), "less") == "too few rounds"
    assert stats.verdict(stats.ratio([122], [154]), "less", exact=True) == "ahead"
    assert Row("size.program", "", "kB").exact and not Row("login.plain", "", "ms").exact
    assert stats.ratio([122], [154])["low"] is None


@pytest.mark.parametrize("ours, verdict", [
    ([57, 60, 63], "few rounds, ahead in each"), ([50, 60, 70], "few rounds, ahead in each, size noisy"),
    ([50, 60, 110], "few rounds"), ([150, 160, 170, 180], "few rounds, behind in each"), ([50, 60], "too few rounds")])
def test_few_rounds_tell_their_least_and_most_and_no_more(ours, verdict):
    compared = stats.ratio(ours, [100] * len(ours))
    assert (compared["low"], compared["high"]) == (min(ours) / 100, max(ours) / 100)
    assert stats.verdict(compared, "less") == verdict


def test_five_rounds_are_enough_for_an_interval():
    assert stats.verdict(stats.ratio(spread(50, 0.02, 5, 5), spread(100, 0.02, 5, 6)), "less") == "ahead"


def test_counts_of_instructions_have_no_verdict():
    compared = stats.ratio([5], [9])
    for key in ("arm.armv7.seal.64", "cpu.instructions.down"):
        assert Row(key, "", "").standing(compared) == "no verdict: a count is no time"
    assert Row("size.program", "", "kB").standing(compared) == "ahead"


def test_a_row_that_waits_for_the_client_says_so(tmp_path):
    made = Results({}, {"wrensshd": "wrensshd", "openssh": "OpenSSH"})
    for name, share in (("wrensshd", 0.97), ("openssh", 0.5)):
        for value in spread(200, 0.02, 5, 1):
            made.add(("throughput.lean.up", "upload", "MiB/s", "more"), name, value)
            made.client("throughput.lean.up", name, share)
    made.save(str(tmp_path))
    loaded = Results.load(str(tmp_path / "results.json")).rows["throughput.lean.up"]
    assert loaded.client_bound("wrensshd") and not loaded.client_bound("openssh")
    assert loaded.standing(stats.ratio([1], [1])).endswith(", client-bound")
    assert [line.endswith(" client-bound") for line in report.row_lines(loaded, made.titles)] == [False, True, False, True]
    assert not Row("login.plain", "login", "ms", samples={"wrensshd": [1]}).client_bound("wrensshd")


def test_nothing_against_nothing_is_the_same_and_against_something_it_is_infinite():
    assert stats.ratio([0], [0])["ratio"] == 1
    assert stats.ratio([5], [0])["ratio"] == float("inf")


def test_percentiles_are_samples():
    samples = list(range(1, 101))
    random.Random(9).shuffle(samples)
    assert stats.percentile(samples, 0) == 1
    assert stats.percentile(samples, 1) == 100
    assert stats.percentile(samples, 0.99) in (99, 100)


def test_the_slope_leaves_out_what_all_share():
    assert stats.slope([(50, 5000 + 50 * 130), (200, 5000 + 200 * 130)]) == pytest.approx(130)


# ---- rows and files ----------------------------------------------------------------------------------------------


def test_the_best_peer_is_neither_we_nor_the_bar():
    samples = {"wrensshd": [1], "tinysshd": [9], "dropbear": [7], "openssh": [8], "openssh-aes128": [2]}
    assert row(**samples).best_peer() == "dropbear"
    assert row("more", **samples).best_peer() == "tinysshd"
    assert row(wrensshd=[1]).best_peer() is None


@pytest.fixture
def results():
    made = Results({"CPU": "one"}, {"wrensshd": "wrensshd", "tinysshd": "TinySSH"})
    for name, middle in (("wrensshd", 20), ("tinysshd", 100)):
        for value in spread(middle, 0.02, 9, middle):
            made.add(("login.plain", "login", "ms"), name, value)
            made.add(("throughput.down", "download", "MiB/s", "more"), name, value)
    made.curve("memory.pss", "Memory", "sessions", "MiB", "wrensshd", [[1, 2.0], [10, 3.0]])
    made.note("something was left out")
    return made


def test_a_curve_is_the_median_of_its_rounds(results):
    for value in (4.0, 9.0):
        results.curve("memory.pss", "Memory", "sessions", "MiB", "wrensshd", [[1, value], [10, value + 1]])
    assert results.curves["memory.pss"]["lines"]["wrensshd"] == [(1, 4.0), (10, 5.0)]


def test_results_are_the_same_after_saving_and_loading(results, tmp_path):
    results.save(str(tmp_path))
    again = Results.load(str(tmp_path / "results.json"))
    again.save_json(str(tmp_path / "again.json"))
    assert (tmp_path / "again.json").read_text() == (tmp_path / "results.json").read_text()
    assert report.text(again) == report.text(results)


def test_the_csv_has_a_line_for_each_figure(results, tmp_path):
    results.save(str(tmp_path))
    lines = (tmp_path / "results.csv").read_text().splitlines()
    assert lines[0] == "row,title,unit,better,server,n,median,min,max"
    assert len(lines) == 1 + 4
    assert lines[1].startswith("login.plain,login,ms,less,wrensshd,9,20.")


def test_the_report_states_every_figure_the_verdict_and_what_is_missing(results):
    text = report.text(results)
    for word in ("CPU:        one", "login (ms)", "TinySSH", "the best peer's: 0.20 [", ": ahead", "download (MiB/s)",
                 "behind", "note: something was left out"):
        assert word in text


def test_a_missing_peer_is_the_first_line_of_the_report(results):
    assert "MISSING" not in report.text(results)
    results.note("left out: OpenSSH, which is not installed")
    results.note("left out: aarch64: mmdebstrap is not installed")
    assert report.text(results).splitlines()[0] == (
        "MISSING: OpenSSH, which is not installed; aarch64: mmdebstrap is not installed")


# ---- comparing two runs --------------------------------------------------------------------------------------------


def pair(ours, theirs, new_ours, new_theirs, share=0.02, better="less"):
    old = row(better, wrensshd=spread(ours, share, 9, 11), tinysshd=spread(theirs, share, 9, 12))
    new = row(better, wrensshd=spread(new_ours, share, 9, 13), tinysshd=spread(new_theirs, share, 9, 14))
    return new, compare.change(old, new)


def test_rounds_that_are_slow_for_all_make_no_change():
    drift = [1, 1, 3, 3, 1, 1, 3, 1, 3]
    old = row(wrensshd=[10 * slow for slow in drift], tinysshd=[20 * slow for slow in drift])
    new = row(wrensshd=[8 * slow for slow in drift], tinysshd=[20 * slow for slow in drift])
    assert compare.change(old, new) == pytest.approx((0.8, 0.8, 0.8))


@pytest.mark.parametrize("better, verdict", [("less", "better"), ("more", "WORSE")])
def test_a_change_of_ours_is_seen(better, verdict):
    new, changed = pair(50, 100, 40, 100, better=better)
    assert changed[0] == pytest.approx(0.8, rel=0.05)
    assert compare.judge(new, changed, 9) == verdict


@pytest.mark.parametrize("ours, theirs, share, rounds, verdict", [
    pytest.param(100, 200, 0.02, 9, "unchanged", id="a machine that is twice as slow"),
    pytest.param(30, 100, 0.9, 9, "noisy", id="noise"), pytest.param(40, 100, 0.02, 2, "too few rounds", id="few rounds")])
def test_what_is_no_change(ours, theirs, share, rounds, verdict):
    new, changed = pair(50, 100, ours, theirs, share)
    assert compare.judge(new, changed, rounds) == verdict


def test_a_row_without_peers_is_compared_as_it_is():
    assert compare.change(row(wrensshd=[100]), row(wrensshd=[80]))[0] == pytest.approx(0.8)


def test_a_quick_run_is_not_compared_with_a_full_one(results):
    other = Results({**results.about, "plan": "full"}, results.titles)
    other.rows = results.rows
    lines = compare.lines(other, results)
    assert lines[1:] == ["not compared: the old run's plan is full, the new one's not known"]
    results.about["plan"] = "full"
    assert sum("unchanged" in line for line in compare.lines(other, results)) == 2


def test_the_comparison_names_what_else_is_different(results):
    other = Results({"CPU": "another"}, results.titles)
    other.rows = results.rows
    lines = compare.lines(other, results)
    assert any("not the same CPU: another" in line for line in lines)
    assert sum("unchanged" in line for line in lines) == 2


# ---- the program without measuring -------------------------------------------------------------------------------


def run_bench(*words, cwd):
    return subprocess.run([sys.executable, "-m", "bench", "--daemon", "-", "--build", str(cwd), *words], cwd=cwd,
                          env={"PYTHONPATH": bench_suite.FOLDER, "PATH": "/usr/bin:/bin"}, text=True,
                          capture_output=True, timeout=60, check=False)


def test_an_earlier_run_can_be_reported_and_compared_again(results, tmp_path):
    results.save(str(tmp_path / "old"))
    old = str(tmp_path / "old" / "results.json")
    done = run_bench("--report", old, "--compare", old, "--out", str(tmp_path / "new"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "changes of ours" in done.stdout and "unchanged" in done.stdout
    assert json.loads((tmp_path / "new" / "results.json").read_text()) == json.loads(
        (tmp_path / "old" / "results.json").read_text())


def test_an_unknown_group_is_named(tmp_path):
    done = run_bench("--only", "login,speed", cwd=tmp_path)
    assert done.returncode != 0
    assert "no group is called speed" in done.stderr
    assert "no group is called haste" in run_bench("--also", "links,haste", cwd=tmp_path).stderr


def test_plots_are_drawn_of_what_there_is(results, tmp_path):
    from bench import plots
    results.add(("login.plain.default", "login", "ms"), "wrensshd", 5.0)
    drawn = plots.draw(results, str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"memory-pss-curve.svg", *(["login.svg", "login.png"] if drawn else [])}
    assert not drawn or "wrensshd" in (tmp_path / "login.svg").read_text()
