"""`sshload run` ends in the verdict, the reason and the exit code that the run deserves, with a real sshd."""

from pathlib import Path

import pytest
import yaml
from local_cli import Ended, measured, sshload, write_test
from statuses import steps_of

ROOT = Path(__file__).parents[3]
of_the_healthy_run = pytest.mark.xdist_group("healthy local run")
of_the_broken_threshold = pytest.mark.xdist_group("local run with a broken threshold")
of_the_failing_run = pytest.mark.xdist_group("failing local run")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the healthy run's logs."""
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory, logs: Path) -> Ended:
    """Return how a run ended in which nothing went wrong."""
    return measured(write_test(tmp_path_factory.mktemp("healthy")), "--logs", logs)


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """Return how a run ended whose command fails, with its table."""
    steps = [{"exec": {"name": "leave", "command": "exit 3"}}]
    failing = {"scenario": {"steps": steps}, "thresholds": [{"errorRate": {"below": "1%"}}]}
    return measured(write_test(tmp_path_factory.mktemp("failing"), **failing), output="table")


@of_the_healthy_run
def test_a_healthy_run_passes_and_every_login_is_accounted_for(healthy: Ended) -> None:
    ended = healthy
    assert ended.code == 0, ended.err
    results = ended.status["results"]
    total = steps_of(ended.status)["total"]
    assert ended.status["verdict"] == "Passed"
    assert total.count == results["iterations"] > 0
    assert results["target"]["accepted"] == results["target"]["clientLogins"] == total.count
    assert results["negotiated"][0]["serverVersion"].startswith("SSH-2.0-OpenSSH")
    assert "resultsConfigMap" not in ended.status


def test_the_quickstart_passes_at_a_tenth_of_its_load(tmp_path: Path) -> None:
    document = yaml.safe_load((ROOT / "examples/01-quickstart.yaml").read_text())
    document["spec"]["load"]["arrivals"]["stages"] = [{"rate": 2, "duration": "4s"}]
    document["spec"]["warmUp"] = "1s"
    document["spec"]["thresholds"][0]["latency"] |= {"percentile": 50, "below": "1m"}  # of a slow server too
    document["spec"]["thresholds"][1]["errorRate"]["below"] = "60%"
    path = tmp_path / "quickstart.yaml"
    path.write_text(yaml.safe_dump(document))
    ended = measured(path)
    assert (ended.code, ended.status["reason"]) == (0, "ThresholdsMet"), ended.err
    assert ended.status["results"]["generator"]["workersConnected"] == 2
    assert "loginDifference" not in ended.status["results"]["target"]


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """Return how a run of a single stage ended that broke its threshold."""
    strict = [{"latency": {"step": "total", "percentile": 50, "below": "1ms"}}]
    enough = {"arrivals": {"rate": 5, "duration": "2s"}}  # samples for a median, however slow the server is
    slow = {"steps": [{"exec": {"command": "sleep 2"}}]}  # over the limit whatever the generator's delay was
    return measured(write_test(tmp_path_factory.mktemp("broken"), thresholds=strict, load=enough, scenario=slow))


@of_the_broken_threshold
def test_a_broken_threshold_fails_with_what_was_observed(broken: Ended) -> None:
    assert (broken.code, broken.status["verdict"]) == (1, "Failed"), broken.err
    (threshold,) = broken.status["thresholds"]
    assert threshold["met"] is False
    assert threshold["value"] > threshold["limit"] == 1
    assert threshold["message"].startswith("p50 of total below 1 ms: ")
    assert threshold["message"].endswith(" % above")


@of_the_broken_threshold
def test_a_load_of_a_single_stage_has_no_results_by_stage(broken: Ended) -> None:
    assert broken.status["results"]["iterations"] > 0
    assert "stages" not in broken.status["results"]


def test_too_few_samples_for_a_percentile_are_inconclusive(tmp_path: Path) -> None:
    demanding = [{"latency": {"step": "total", "percentile": 99.9, "below": "5s"}}]
    ended = measured(write_test(tmp_path, thresholds=demanding))
    assert (ended.code, ended.status["reason"]) == (2, "TooFewSamples"), ended.err
    assert "value" not in ended.status["thresholds"][0]


def test_a_configuration_that_sshd_rejects_is_an_error_with_its_message(tmp_path: Path) -> None:
    target = {"managed": {"sshd": {"extraConfig": {"ClientAliveCountMax": "many"}}}}
    ended = sshload("run", write_test(tmp_path, target=target), "--output", "json")
    assert (ended.code, ended.status["reason"]) == (4, "SshdConfigRejected"), ended.err
    assert "ClientAliveCountMax" in ended.status["message"] or "integer" in ended.status["message"]
    assert "results" not in ended.status


def test_a_max_startups_that_cannot_be_is_refused_before_anything_is_started(tmp_path: Path) -> None:
    target = {"managed": {"sshd": {"maxStartups": "100:30:10"}}}
    ended = sshload("run", write_test(tmp_path, target=target), "--output", "json")
    assert (ended.code, ended.status["reason"]) == (4, "InvalidSpec")
    assert "target.managed.sshd.maxStartups" in ended.status["message"]
    assert ended.err == ""


def test_an_unknown_field_is_named(tmp_path: Path) -> None:
    ended = sshload("run", write_test(tmp_path, lod={}), "--output", "json")
    assert (ended.code, ended.status["reason"]) == (4, "InvalidSpec")
    assert "lod" in ended.status["message"]


@of_the_failing_run
def test_a_command_that_fails_breaks_the_error_rate_and_shows_its_outcome(failing: Ended) -> None:
    assert (failing.code, failing.judgement) == (1, {"verdict": "Failed", "reason": "ThresholdBroken"}), failing.err
    _, _, errors = failing.out.partition("\nfailed step ")
    assert [line.split()[1] for line in errors.partition("\n\n")[0].splitlines()[1:]] == ["exitCode"], failing.out


@of_the_failing_run
def test_the_table_shows_steps_errors_thresholds_and_the_verdict(failing: Ended) -> None:
    first_words = [line.split()[0] for line in failing.out.splitlines() if line and not line.startswith(" ")]
    for word in ("✗", "load", "step", "login", "leave.command", "total", "failed", "server", "generator"):
        assert word in first_words, failing.out
    assert failing.out.startswith("Failed (ThresholdBroken): the threshold was broken\n")


@of_the_healthy_run
def test_progress_goes_to_standard_error_and_results_to_standard_output(healthy: Ended) -> None:
    assert "Running" in healthy.err
    assert "Running" not in healthy.out.replace('"Running', "")
    assert healthy.err.startswith("the target is this machine's OpenSSH_")


@of_the_healthy_run
def test_the_logs_that_were_asked_for_hold_no_key(healthy: Ended, logs: Path) -> None:
    names = ["master.log", "summary.json", "target.log", "worker-0.log"]
    assert sorted(path.name for path in logs.iterdir()) == names, healthy.err
    assert not any("PRIVATE KEY" in path.read_text() for path in logs.iterdir())
