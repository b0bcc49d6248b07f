import subprocess
import sys
from pathlib import Path

import pytest
from guide import subcommands
from sshload_contract.allow_list import AllowedTarget
from sshload_contract.vocabulary import Verdict
from sshload_operator.api.status.comparison import ComparisonVerdict
from sshload_operator.cli.commands import main
from sshload_operator.cli.exit_code import ExitCode, exit_code
from sshload_operator.cli.options import allowed_target


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        pytest.param("bastion.example.com", AllowedTarget("bastion.example.com", ()), id="host"),
        pytest.param("bastion.example.com:2222", AllowedTarget("bastion.example.com", (2222,)), id="host and port"),
        pytest.param("*.example.com:22", AllowedTarget("*.example.com", (22,)), id="pattern"),
        pytest.param("10.0.0.0/8:22", AllowedTarget("10.0.0.0/8", (22,)), id="CIDR"),
        pytest.param("[2001:db8::1]:22", AllowedTarget("2001:db8::1", (22,)), id="IPv6 and port"),
        pytest.param("[2001:db8::/32]", AllowedTarget("2001:db8::/32", ()), id="IPv6"),
    ],
)
def test_an_allowed_target_is_a_host_and_perhaps_a_port(text: str, allowed: AllowedTarget) -> None:
    assert allowed_target(text) == allowed


@pytest.mark.parametrize(
    "text", ["", ":22", "host:", "host:ssh", "host:0", "host:65536", "2001:db8::1", "[::1", "10.*.1"]
)
def test_what_is_no_target_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not|port|text|name|address|pattern"):
        allowed_target(text)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param([], id="no command"),
        pytest.param(["rnu"], id="unknown command"),
        pytest.param(["run"], id="no file"),
        pytest.param(["run", "f", "--output", "xml"], id="unknown output"),
        pytest.param(["run", "f", "--allow-target", "host:0"], id="bad target"),
        pytest.param(["watch", "name", "--timeout", "soon"], id="bad number"),
        pytest.param(["compare"], id="no comparison"),
        pytest.param(["compare", "-f", "file", "--timeout", "9"], id="timeout of a comparison here"),
        pytest.param(["compare", "-f", "file", "-n", "load"], id="namespace of a comparison here"),
        pytest.param(["compare", "-f", "file", "--context", "one"], id="context of a comparison here"),
        pytest.param(["compare", "sides", "--logs", "logs"], id="logs of a comparison in a cluster"),
        pytest.param(["compare", "sides", "--identity", "key"], id="key for a comparison in a cluster"),
        pytest.param(["validate"], id="nothing to validate"),
    ],
)
def test_a_wrong_command_line_never_looks_like_a_verdict(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["sshload", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == ExitCode.USAGE
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Usage: sshload" in printed.err


def test_every_verdict_has_a_code_of_its_own() -> None:
    codes = {verdict: exit_code(verdict) for verdict in Verdict}
    assert codes == {
        Verdict.PASSED: 0,
        Verdict.FAILED: 1,
        Verdict.INCONCLUSIVE: 2,
        Verdict.INVALID: 3,
        Verdict.ERROR: 4,
        Verdict.ABORTED: 5,
    }


def test_a_comparison_ends_with_the_code_of_the_verdict_that_it_is_like() -> None:
    codes = {verdict: exit_code(verdict) for verdict in ComparisonVerdict}
    assert codes == {
        ComparisonVerdict.CONCLUSIVE: 0,
        ComparisonVerdict.INCONCLUSIVE: 2,
        ComparisonVerdict.ERROR: 4,
        ComparisonVerdict.ABORTED: 5,
    }


@pytest.mark.parametrize("command", [[], *([name] for name in subcommands())], ids="".join)
def test_every_help_shows_the_codes(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["sshload", *command, "--help"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    shown = capsys.readouterr().out
    for code in ExitCode:
        assert f"\n    {code.value:<3}" in shown
    for verdict in Verdict:
        assert verdict in shown


def imported(statement: str, *modules: str) -> list[str]:
    """Return which of these modules a process has imported after this statement."""
    program = f"import sys\n{statement}\nprint(*(one for one in {modules!r} if one in sys.modules))"
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()


@pytest.mark.slow
def test_the_operators_process_has_nothing_of_the_command_line() -> None:
    assert imported("import sshload_operator.__main__", "click", "rich", "sshload_operator.cli") == []


def test_help_and_version_import_no_command() -> None:
    heavy = ("rich", "yaml", "kubernetes", "asyncio", "importlib.metadata", "sshload_operator.api.spec")
    assert imported("import sshload_operator.cli.commands", "click", *heavy) == ["click"]


@pytest.mark.slow
def test_checking_a_test_draws_nothing_and_knows_neither_results_nor_other_kinds() -> None:
    drawing = ("rich", "kubernetes", "aiohttp", "asyncio")
    summary = ("sshload_contract.wire.run_summary", "sshload_contract.wire.report")
    status = ("sshload_operator.api.status.results", "sshload_operator.api.status.load_test")
    other_kinds = ("sshload_operator.api.comparison", "sshload_operator.api.schedule", "cronsim")
    assert imported("import sshload_operator.cli.validate", *drawing, *summary, *status, *other_kinds) == []


@pytest.mark.slow
@pytest.mark.parametrize("module", ["report", "cluster.apply", "cluster.manage", "cluster.follow"])
def test_a_client_of_the_api_server_is_imported_only_once_there_is_one_to_ask(module: str) -> None:
    assert imported(f"import sshload_operator.cli.{module}", "kubernetes", "aiohttp", "requests", "pydantic") == []


def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    monkeypatch.setattr(sys, "argv", ["sshload", *words])
    with pytest.raises(SystemExit):
        main()
    return capsys.readouterr().err


def test_a_misspelt_command_is_answered_with_the_nearest(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "did you mean run?" in said(monkeypatch, capsys, "rnu")


@pytest.mark.parametrize(
    "command", [["run"], ["validate"], ["compare", "-f"], ["apply", "-f"], ["advise", "-f"]], ids=" ".join
)
def test_a_file_that_is_not_there_is_named_with_what_to_do(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = said(monkeypatch, capsys, *command, "/nowhere.yaml")
    assert answer == "sshload: /nowhere.yaml: No such file or directory. Give the path of a file that can be read\n"


def test_the_help_of_completion_has_a_line_for_each_shell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["sshload", "completion", "--help"])
    with pytest.raises(SystemExit):
        main()
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "zsh:   source <(sshload completion zsh)" in lines


def test_where_no_cluster_is_known_it_says_how_to_name_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    assert "name yours with --kubeconfig or KUBECONFIG" in said(monkeypatch, capsys, "watch", "one")
