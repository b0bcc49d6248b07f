"""A gateway in place of an SSH server: what is measured is what passed the wire, and failures are told apart."""

import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from math import inf
from pathlib import Path

import pytest
from free_ports import free_port
from gateway_stand_in import TOKEN, Reply, StandIn, command_reply, stand_in
from master_here import counted, one_load
from one_iteration import Counted, run_once
from run_configs import EXEC_TRUE, arrivals, client, run_config, scenario
from sshload_contract.load import ThinkTime, UsersLoad, UsersStage
from sshload_contract.steps import ExecStep, ScenarioStep, SftpListStep
from sshload_contract.vocabulary import Outcome, Timing, Window
from sshload_contract.wire.run_config import GatewayEndpoint, RunConfig, SessionReuse
from sshload_contract.wire.run_summary import RunSummary
from sshload_worker.scenario.target_login import resolve_first_hop
from sshload_worker.scenario.target_sessions import prepare_target
from whole_run import whole_run

LIST = SftpListStep(name="", path="data", expect_entries=1_500)
_HISTOGRAM_PRECISION = 0.01


def config_of(target: GatewayEndpoint, *steps: ScenarioStep, **timeouts_s: float) -> RunConfig:
    config = run_config(target, arrivals(1, 1))
    return replace(config, scenario=scenario(*(steps or (EXEC_TRUE,))), client=client(**timeouts_s))


def run_against(folder: Path, reply: Reply, *steps: ScenarioStep, **timeouts_s: float) -> Counted:
    """Run one iteration against a gateway that always answers so."""
    with stand_in(lambda _, __: reply) as gateway:
        return run_once(config_of(gateway.endpoint(folder), *steps, **timeouts_s))


def one_user(seconds: float) -> UsersLoad:
    return UsersLoad(stages=(UsersStage(users=1, duration_s=seconds),), spawn_rate=0, think_time=ThinkTime(0.0, 0.0))


def percentile(values: list[float], percent: int) -> float:
    """Return the least value that so many percent do not exceed."""
    return sorted(values)[-(-len(values) * percent // 100) - 1]


def measured(summary: RunSummary, step: str) -> dict[str, int | None]:
    return next(dict(found.percentiles_us) for found in summary.trial.steps if found.step == step)


def test_the_measured_percentiles_lie_between_those_of_the_wire(tmp_path: Path) -> None:
    """A user's request is measured from before it comes until its answer is read, and only then the next is sent.

    So each latency lies between the time that the gateway took, and the time from the answer before it, which is read
    before it begins, to the user's next request.
    """
    numbers = count(1)
    with stand_in(lambda _, __: command_reply(b"x", 0.05 if next(numbers) % 5 == 0 else 0.01)) as gateway:
        config = replace(
            config_of(gateway.endpoint(tmp_path)),
            load=one_user(6.0),
            scenario=replace(scenario(EXEC_TRUE), session_reuse=SessionReuse.USER),
        )
        with whole_run(tmp_path, config) as run:
            summary = run.summary()
    [spans] = filter(None, gateway.spans)  # one connection only was to see whether it listens
    taken = [answer_s - came_s for came_s, answer_s in spans]
    around = [next_s - answer_s for (_, answer_s), (next_s, _) in zip(spans, spans[2:], strict=False)]
    command = measured(summary, "command")
    assert summary.trial.load.failed == 0
    assert summary.trial.load.succeeded == len(spans)
    for percent in (50, 90):
        seen_s = (command[str(percent)] or 0) / 1_000_000
        assert percentile(taken, percent) * (1 - _HISTOGRAM_PRECISION) <= seen_s
        assert seen_s <= percentile([*around, inf, inf], percent) * (1 + _HISTOGRAM_PRECISION)
        told_s = (measured(summary, "gatewayCommand")[str(percent)] or 0) / 1_000_000
        wanted_s = 0.01 if percent == 50 else 0.05
        assert told_s == pytest.approx(wanted_s, rel=2 * _HISTOGRAM_PRECISION)


def test_a_command_is_asked_for_with_the_token_and_its_output_is_counted(tmp_path: Path) -> None:
    with stand_in(lambda _, __: command_reply(b"hello\n")) as gateway:
        step = ExecStep(name="hi", command="echo {iteration}", expect_exit_code=0, expect_stdout="^hello$|hello")
        done = run_once(config_of(gateway.endpoint(tmp_path), step))
    assert done.outcome is Outcome.OK, done.message
    assert {"connect", "hi.command", "hi.gatewayWait", "hi.gatewayCommand", "total"} <= set(done.steps)
    assert not {"login", "tls", "hi.gatewayLogin", "hi.exec"} & set(done.steps)
    assert gateway.heard == [("POST", "/sshapi/v2/server", {"command": "echo 0-0", "encoding": "base64"})]
    assert gateway.tokens == {f"Bearer {TOKEN}"}


def test_a_directory_is_listed_to_its_end(tmp_path: Path) -> None:
    def answer(_: str, path: str) -> Reply:
        entries, after = (500, None) if "after=next" in path else (1_000, "next")
        return Reply(body={"entries": [{"name": "a"}] * entries, "next": after})

    with stand_in(answer) as gateway:
        done = run_once(config_of(gateway.endpoint(tmp_path), LIST))
    assert done.outcome is Outcome.OK, done.message
    assert [path for _, path, _ in gateway.heard] == [
        "/sshapi/v2/server/files?path=data&limit=1000&after=",
        "/sshapi/v2/server/files?path=data&limit=1000&after=next",
    ]


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (401, Outcome.AUTH_REJECTED),
        (404, Outcome.REQUEST_REFUSED),
        (302, Outcome.REQUEST_REFUSED),
        (429, Outcome.RATE_LIMITED),
        (500, Outcome.GATEWAY_ERROR),
        (502, Outcome.BAD_GATEWAY),
        (503, Outcome.GATEWAY_BUSY),
        (504, Outcome.GATEWAY_TIMEOUT),
    ],
)
def test_each_status_is_an_outcome_of_its_own(tmp_path: Path, status: int, outcome: Outcome) -> None:
    problem = Reply(status, {"kind": "some-kind", "detail": "the reason"}, {"Retry-After": "7"})
    done = run_against(tmp_path, problem)
    assert (done.outcome, done.failed_step) == (outcome, "command")
    assert done.message == f"status {status} (Retry-After: 7), some-kind: the reason"


@pytest.mark.parametrize("status", [502, 503, 504])
@pytest.mark.parametrize(
    "body", [b"<html>503 Service Temporarily Unavailable</html>", {}, {"kind": ""}, {"kind": 1, "detail": "of nobody"}]
)
def test_a_status_without_the_words_of_a_gateway_is_that_of_a_proxy_before_it(
    tmp_path: Path, status: int, body: object
) -> None:
    done = run_against(tmp_path, Reply(status, body))
    assert (done.outcome, done.failed_step) == (Outcome.PROXY_ERROR, "command")
    assert done.message == f"status {status} from a proxy, not from the gateway: it has no kind"


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({"exitCode": 3}, Outcome.EXIT_CODE),
        ({"exitCode": None}, Outcome.NO_EXIT_STATUS),
        ({"outcome": "signalled", "exitCode": None, "signal": "KILL"}, Outcome.KILLED_BY_SIGNAL),
        ({"outcome": "timeout", "exitCode": None}, Outcome.COMMAND_TIMEOUT),
        ({"outcome": "output-limit", "exitCode": None}, Outcome.OUTPUT_LIMIT),
        ({"outcome": "connection-lost", "exitCode": None}, Outcome.CONNECTION_LOST),
    ],
)
def test_each_end_of_a_command_is_an_outcome_of_its_own(
    tmp_path: Path, changes: dict[str, object], outcome: Outcome
) -> None:
    done = run_against(tmp_path, command_reply(**changes))
    assert (done.outcome, done.failed_step) == (outcome, "command")


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply(raw=b"SSH-2.0-OpenSSH_10.0\r\n\r\n", closes=True), id="another protocol"),
        pytest.param(Reply(body=b"<html>"), id="no JSON"),
        pytest.param(Reply(body=b"[" * 100_000), id="JSON that is nested too deeply"),
        pytest.param(Reply(body={}), id="no fields"),
        pytest.param(Reply(raw=b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000, closes=True), id="a head without end"),
        pytest.param(Reply(raw=b"HTTP/1.1 100 Continue\r\n\r\n" * 100, closes=True), id="interim answers without end"),
        pytest.param(Reply(body=b" " * (16 * 2**20 + 1)), id="more than is read"),
    ],
)
def test_what_a_gateway_never_says_is_a_bad_answer(tmp_path: Path, reply: Reply) -> None:
    done = run_against(tmp_path, reply)
    assert (done.outcome, done.failed_step) == (Outcome.BAD_ANSWER, "command")


@pytest.mark.parametrize("raw", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"])
def test_a_connection_that_is_closed_before_the_end_of_the_answer_is_one_that_broke(tmp_path: Path, raw: bytes) -> None:
    done = run_against(tmp_path, Reply(raw=raw, closes=True))
    assert (done.outcome, done.failed_step) == (Outcome.DISCONNECTED, "command")


def test_an_answer_that_does_not_come_in_time_is_a_timeout(tmp_path: Path) -> None:
    done = run_against(tmp_path, command_reply(after_s=5.0), step_s=0.1)
    assert (done.outcome, done.failed_step) == (Outcome.STEP_TIMEOUT, "command")


def test_nothing_that_listens_is_refused(tmp_path: Path) -> None:
    done = run_once(config_of(StandIn(free_port()).endpoint(tmp_path)))
    assert (done.outcome, done.failed_step) == (Outcome.REFUSED, "connect")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Make a certificate for 127.0.0.1 that signs itself, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    chain, key = folder / "chain.pem", folder / "key.pem"
    made = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1")
    names = ("-subj", "/CN=gateway", "-addext", "subjectAltName=IP:127.0.0.1")
    subprocess.run(["openssl", *made, *names, "-keyout", key, "-out", chain], check=True, capture_output=True)
    return chain, key


def test_tls_is_timed_where_the_certificate_is_a_known_one(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    with stand_in(lambda _, __: command_reply(b"x" * 300_000), certificate) as gateway:
        done = run_once(config_of(gateway.endpoint(tmp_path, ca_path=str(certificate[0]))))
    assert done.outcome is Outcome.OK, done.message
    assert done.steps["tls"] is Outcome.OK


def test_a_certificate_of_nobody_known_is_refused_before_the_token_is_sent(
    tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    with stand_in(lambda _, __: command_reply(), certificate) as gateway:
        done = run_once(config_of(gateway.endpoint(tmp_path)))
    assert (done.outcome, done.failed_step) == (Outcome.TLS_FAILED, "tls")
    assert "self-signed" in done.message
    assert gateway.tokens == set()


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Listen, and take connections in the kernel only."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_server_that_ends_no_handshake_is_a_timeout_of_tls(tmp_path: Path, silent_port: int) -> None:
    done = run_once(config_of(StandIn(silent_port, tls=True).endpoint(tmp_path), kex_s=0.1))
    assert (done.outcome, done.failed_step) == (Outcome.TLS_TIMEOUT, "tls")


def test_a_pool_keeps_connections_open_and_opens_more_where_all_are_busy(tmp_path: Path) -> None:
    with stand_in(lambda _, __: command_reply(after_s=0.2)) as gateway:
        config = config_of(gateway.endpoint(tmp_path))
        pool = replace(config.scenario, session_reuse=SessionReuse.POOL, pool_sessions=2)
        with one_load(replace(config, load=arrivals(30, 1.0), scenario=pool, warm_up_s=0.2)) as load:
            totals = load.finish()
        asked, opened = len(gateway.heard), len(gateway.spans)
    assert counted(totals, Timing.TOTAL)[Window.MEASURED, Outcome.OK] == 30
    assert 2 < opened < asked
    assert load.recorder.connections == 0


def look(endpoint: GatewayEndpoint) -> tuple[Outcome | None, str] | None:
    config = config_of(endpoint, connect_s=1.0)
    failure = prepare_target(config, resolve_first_hop(config, print)).use_once(0, print)
    return None if failure is None else (failure.outcome, failure.message)


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        (Reply(body={"credentials": [{"name": "other"}, {"name": "server"}]}), None),
        (
            Reply(body={"credentials": [{"name": "other"}]}),
            (Outcome.REQUEST_REFUSED, "the caller has no credential server, only others (1)"),
        ),
        (Reply(401, {"kind": "token", "detail": "expired"}), (Outcome.AUTH_REJECTED, "status 401, token: expired")),
        (
            Reply(body={"credentials": "none"}),
            (Outcome.BAD_ANSWER, "the answer is not that of a gateway: credentials is not a list of objects"),
        ),
    ],
)
def test_before_the_load_the_gateway_is_asked_whether_it_knows_the_credential(
    tmp_path: Path, reply: Reply, found: tuple[Outcome, str] | None
) -> None:
    with stand_in(lambda _, __: reply) as gateway:
        assert look(gateway.endpoint(tmp_path)) == found
        assert {(method, path) for method, path, _ in gateway.heard} == {("GET", "/sshapi/v2/credentials")}


@pytest.mark.parametrize("body", [{"kind": "busy"}, b""], ids=["gateway", "proxy"])
def test_what_is_busy_at_first_is_asked_again(tmp_path: Path, body: object) -> None:
    answers = iter((Reply(503, body), Reply(body={"credentials": [{"name": "server"}]})))
    with stand_in(lambda _, __: next(answers)) as gateway:
        assert look(gateway.endpoint(tmp_path)) is None
