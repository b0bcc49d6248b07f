import json
import sys
from pathlib import Path

import pytest
import yaml
from sshload_operator.cli.commands import main
from sshload_operator.cli.exit_code import ExitCode

EXAMPLES = sorted((Path(__file__).parents[4] / "examples").glob("*.yaml"))
SPEC = {
    "target": {"managed": {}},
    "scenario": {"steps": [{"exec": {"command": "uptime"}}]},
    "load": {"arrivals": {"stages": [{"rate": 20, "duration": "30s"}]}},
}


def validate(monkeypatch: pytest.MonkeyPatch, *paths: Path) -> int:
    monkeypatch.setattr(sys, "argv", ["sshload", "validate", *map(str, paths)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


def write(folder: Path, spec: object, name: str = "one", kind: str = "SSHLoadTest") -> Path:
    path = folder / f"{name}.yaml"
    document = {"apiVersion": "sshload.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}
    path.write_text(yaml.safe_dump(document))
    return path


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_is_valid(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert validate(monkeypatch, path) == ExitCode.PASSED
    assert ": valid" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        pytest.param({**SPEC, "lod": 1}, ["lod", "unknown"], id="unknown field"),
        pytest.param({**SPEC, "target": {}}, ["target"], id="no target"),
        pytest.param({**SPEC, "warmUp": "soon"}, ["warmUp"], id="no duration"),
        pytest.param({**SPEC, "workers": {"replicas": 0}}, ["workers.replicas"], id="no workers"),
        pytest.param(
            {**SPEC, "baseline": {"testRef": {"name": "one"}}, "thresholds": [{"throughput": {"within": "10%"}}]},
            ["spec.baseline.testRef.name", "its own baseline"],
            id="its own baseline",
        ),
        pytest.param(
            {**SPEC, "load": {"arrivals": {"stages": [{"rate": 5000, "duration": "60s"}]}}},
            ["LoadImpossible", "source ports"],
            id="impossible load",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_file_and_field(
    spec: object,
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = write(tmp_path, spec)
    assert validate(monkeypatch, path) == ExitCode.ERROR
    printed = capsys.readouterr()
    assert printed.out == ""
    for word in (str(path), *words):
        assert word in printed.err


def scheduled(spec: object, **fields: object) -> dict[str, object]:
    return {"schedule": "0 * * * *", "testTemplate": {"spec": spec}, **fields}


def compared(patch: object) -> dict[str, object]:
    return {"base": SPEC, "variants": [{"name": "a"}, {"name": "b", "patch": patch}]}


BURST = {"load": {"arrivals": None, "burst": {"connections": 500}}}
IMPOSSIBLE = {"load": {"arrivals": {"stages": [{"rate": 5000, "duration": "60s"}]}}}


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(
            ("SSHLoadTestSchedule", scheduled(SPEC, schedule="now"), ["spec.schedule"]),
            id="no cron line",
        ),
        pytest.param(
            ("SSHLoadTestSchedule", scheduled({}), ["spec.testTemplate.spec", "is required"]),
            id="no scheduled test",
        ),
        pytest.param(
            ("SSHLoadTestSchedule", scheduled(SPEC | IMPOSSIBLE), ["LoadImpossible"]),
            id="impossible scheduled test",
        ),
        pytest.param(
            ("SSHLoadTestComparison", compared({"lod": 1}), ["spec.variants[1].patch", "spec.lod"]),
            id="misspelt patch",
        ),
        pytest.param(
            ("SSHLoadTestComparison", compared(IMPOSSIBLE), ["variant b", "LoadImpossible"]),
            id="impossible variant",
        ),
    ],
)
def test_what_is_wrong_with_the_tests_of_a_schedule_or_comparison_is_named(
    wrong: tuple[str, object, list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kind, spec, words = wrong
    path = write(tmp_path, spec, kind=kind)
    assert validate(monkeypatch, path) == ExitCode.ERROR
    printed = capsys.readouterr()
    assert printed.out == ""
    for word in (str(path), *words):
        assert word in printed.err


def test_a_caution_is_said_of_the_variant_that_it_is_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, compared(BURST), kind="SSHLoadTestComparison")
    assert validate(monkeypatch, path) == ExitCode.PASSED
    printed = capsys.readouterr()
    assert printed.out == f"{path}: one: valid\n"
    assert "one: variant b: note: spec.load.burst opens up to 500 connections" in printed.err
    assert "variant a" not in printed.err


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        ("SSHLoadTestSchedule", "which needs a cluster: kubectl apply it"),
        ("SSHLoadTestComparison", "sshload compare -f"),
    ],
)
def test_run_says_what_to_do_with_what_is_no_test(
    kind: str, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, {}, kind=kind)
    monkeypatch.setattr(sys, "argv", ["sshload", "run", str(path)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == ExitCode.ERROR
    said = capsys.readouterr().err
    assert f"{path}: no SSHLoadTest in it, but an {kind}" in said
    assert advice in said


def test_every_file_is_checked_though_one_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good, missing = write(tmp_path, SPEC, "good"), tmp_path / "missing.yaml"
    assert validate(monkeypatch, missing, write(tmp_path, {}, "bad"), good) == ExitCode.ERROR
    printed = capsys.readouterr()
    assert printed.out == f"{good}: good: valid\n"
    assert "No such file" in printed.err
    assert "bad.yaml" in printed.err


def test_a_target_of_ones_own_is_valid_whatever_the_installation_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    external = {"host": "bastion.example.com", "user": "load", "credentialsSecretRef": {"name": "login"}}
    target = {"external": {**external, "knownHostsSecretRef": {"name": "hosts"}}}
    assert validate(monkeypatch, write(tmp_path, {**SPEC, "target": target})) == ExitCode.PASSED


def test_a_caution_is_said_of_a_valid_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, {**SPEC, "load": {"burst": {"connections": 500}}})
    assert validate(monkeypatch, path) == ExitCode.PASSED
    assert "note: spec.load.burst opens up to 500 connections" in capsys.readouterr().err


def test_a_name_that_the_api_server_refuses_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert validate(monkeypatch, write(tmp_path, SPEC, "a_b")) == ExitCode.ERROR
    assert "metadata.name" in capsys.readouterr().err


def test_everything_that_is_wrong_is_said_at_once_each_on_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stage = {"raet": 20, "duration": 30}
    path = write(tmp_path, {**SPEC, "load": {"arrivals": {"stages": [stage]}}, "workers": {"replicas": "2"}})
    assert validate(monkeypatch, path) == ExitCode.ERROR
    assert capsys.readouterr().err.splitlines() == [
        f"sshload: {path}: one: spec.load.arrivals.stages[0].raet: unknown field; did you mean rate?",
        f"sshload: {path}: one: spec.load.arrivals.stages[0].rate: is required, and missing",
        f"sshload: {path}: one: spec.load.arrivals.stages[0].duration: is 30, but must be a duration: write 30s",
        f"sshload: {path}: one: spec.workers.replicas: must be a number, not a string; remove the quotes",
    ]


def test_a_percentage_without_its_sign_is_not_to_be_put_in_quotes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, {**SPEC, "thresholds": [{"errorRate": {"below": 0.01}}]})
    assert validate(monkeypatch, path) == ExitCode.ERROR
    assert capsys.readouterr().err == (
        f"sshload: {path}: one: spec.thresholds[0].errorRate.below: is 0.01, but must be a percentage with its sign,"
        " such as 1%\n"
    )


def test_a_directory_stands_for_its_files_and_others_in_it_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, SPEC)
    write(tmp_path, {**SPEC, "lod": 1}, name="two")
    (tmp_path / "secret.yaml").write_text("apiVersion: v1\nkind: Secret\nmetadata: {name: login}\n")
    (tmp_path / "notes.txt").write_text("no YAML")
    assert validate(monkeypatch, tmp_path) == ExitCode.ERROR
    said = capsys.readouterr()
    assert said.out == f"{tmp_path / 'one.yaml'}: one: valid\n"
    assert said.err == f"sshload: {tmp_path / 'two.yaml'}: two: spec.lod: unknown field; did you mean load?\n"


def test_a_directory_without_our_objects_is_not_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert validate(monkeypatch, tmp_path) == ExitCode.ERROR
    assert "no object of ours" in capsys.readouterr().err


def test_the_standard_input_and_a_list_are_read_as_kubectl_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    items = [yaml.safe_load(write(tmp_path, SPEC, name=name).read_text()) for name in ("one", "two")]
    listed = tmp_path / "list.json"
    listed.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    with listed.open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert validate(monkeypatch, Path("-")) == ExitCode.PASSED
    assert capsys.readouterr().out == "-: one: valid\n-: two: valid\n"
