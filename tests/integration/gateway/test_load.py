"""Load tests that callers start, in a real API server, by an account that may only create them."""

import base64
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from api_server import ApiServer
from gateway_process import Caller, GatewayProcess, gateway_process
from live_cluster import LiveCluster, load_test

pytestmark = pytest.mark.xdist_group("gateway")

SPEC: dict[str, Any] = dict(load_test("any")["spec"])
ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "Role",
    "metadata": {"name": "gateway"},
    "rules": [{"apiGroups": ["sshload.dev"], "resources": ["sshloadtests"], "verbs": ["create"]}],
}
A_MINUTE = 5


@dataclass(frozen=True)
class Loads:
    """A gateway that starts load tests, and the namespaces of red, where it may, and of blue, where it may not."""

    gateway: GatewayProcess
    red: LiveCluster
    blue: LiveCluster

    def of(self, **claims: object) -> Caller:
        """Return somebody new whose token has these claims."""
        return Caller(self.gateway.url, self.gateway.issuer.token(secrets.token_hex(8), **claims))


@pytest.fixture(scope="module")
def loads(api_server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loads]:
    """A gateway with an account of the API server's."""
    red, blue, folder = api_server.namespace(), api_server.namespace(), tmp_path_factory.mktemp("gateway")
    red.kubectl("create", "serviceaccount", "gateway")
    red.apply(ROLE)
    red.kubectl("create", "rolebinding", "gateway", "--role=gateway", f"--serviceaccount={red.namespace}:gateway")
    (folder / "token").write_text(red.kubectl("create", "token", "gateway"))
    server = yaml.safe_load(api_server.kubeconfig.read_text())["clusters"][0]["cluster"]
    load = {
        "claim": "team",
        "namespaces": {"red": red.namespace, "blue": blue.namespace},
        "perMinute": A_MINUTE,
        "pagesUrl": "https://pages.example.com",
        "apiServer": server["server"],
        "tokenFile": f"{folder}/token",
        "caFile": server["certificate-authority"],
    }
    with gateway_process(folder, [22], load=load) as running:
        yield Loads(running, red, blue)


def start(caller: Caller, spec: object = SPEC) -> requests.Response:
    return caller.ask("POST", "/load", json=spec)


def test_a_load_is_a_test_in_the_callers_namespace_and_the_answer_says_where_to_follow_it(loads: Loads) -> None:
    answer = start(loads.of(team="red"))

    assert answer.status_code == 201, answer.text
    said, namespace = answer.json(), loads.red.namespace
    made = loads.red.get("sshloadtest", said["name"])
    assert made["spec"]["load"]["arrivals"]["stages"] == SPEC["load"]["arrivals"]["stages"]
    assert made["metadata"]["annotations"]["sshload.dev/requested-by"]
    assert said == {
        "name": said["name"],
        "namespace": namespace,
        "command": f"kubectl get sshloadtest {said['name']} --namespace {namespace} --watch",
        "page": f"https://pages.example.com/ui/{namespace}/tests/{said['name']}",
    }
    assert loads.red.kubectl(*said["command"].split()[1:-3]).splitlines()[1].startswith(said["name"])


@pytest.mark.parametrize("claims", [{}, {"team": "green"}, {"team": ["red"]}, {"team": 1}, {"red": "team"}], ids=str)
def test_a_caller_whose_claim_names_no_namespace_of_the_configuration_starts_nothing(
    loads: Loads, claims: dict[str, Any]
) -> None:
    refused = start(loads.of(**claims))

    assert (refused.status_code, refused.json()["kind"]) == (403, "no-load-right")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        pytest.param({}, "spec.target: Required value", id="nothing"),
        pytest.param({**SPEC, "targets": {}}, 'unknown field "spec.targets"', id="a field that is none"),
        pytest.param({**SPEC, "workers": {"replicas": 0}}, "spec.workers.replicas", id="no workers"),
    ],
)
def test_what_the_api_server_refuses_is_told_in_its_words(loads: Loads, spec: dict[str, Any], said: str) -> None:
    refused = start(loads.of(team="red"), spec)

    assert (refused.status_code, refused.json()["kind"]) == (422, "spec")
    assert said in refused.json()["detail"]


def test_where_the_account_has_no_right_the_cluster_refuses(loads: Loads) -> None:
    refused = start(loads.of(team="blue"))

    assert (refused.status_code, refused.json()["kind"]) == (403, "cluster")
    assert "cannot create resource" in refused.json()["detail"]
    assert loads.blue.labelled("sshloadtests") == []


def test_a_caller_starts_no_more_loads_than_the_rate_allows(loads: Loads) -> None:
    caller, statuses, began_s = loads.of(team="red"), [], time.monotonic()
    while 429 not in statuses:
        statuses.append(start(caller, {}).status_code)
    *allowed, _ = statuses
    due_meanwhile = (time.monotonic() - began_s) * A_MINUTE / 60

    assert set(allowed) == {422}
    assert A_MINUTE <= len(allowed) <= A_MINUTE + due_meanwhile


def test_a_body_that_is_too_large_or_no_object_is_refused(loads: Loads) -> None:
    assert start(loads.of(team="red"), {**SPEC, "more": "x" * 300_000}).status_code == 413
    assert start(loads.of(team="red"), [SPEC]).status_code == 422


def test_an_api_server_that_is_away_is_told_as_such(loads: Loads, tmp_path: Path) -> None:
    load = {
        "claim": "team",
        "namespaces": {"red": loads.red.namespace},
        "apiServer": "https://127.0.0.1:9",
        "tokenFile": f"{loads.gateway.folder}/token",
        "caFile": yaml.safe_load(loads.red.kubeconfig.read_text())["clusters"][0]["cluster"]["certificate-authority"],
    }
    with gateway_process(tmp_path, [22], load=load) as gateway:
        answer = start(Caller(gateway.url, gateway.issuer.token(team="red")))

    assert (answer.status_code, answer.json()["kind"], "Retry-After" in answer.headers) == (503, "api-server", True)


def test_the_accounts_token_is_in_no_log_and_no_answer(loads: Loads) -> None:
    token = (loads.gateway.folder / "token").read_text().strip()
    answers = [start(loads.of(team=team)).text for team in ("red", "blue", "green")]

    assert token not in loads.gateway.log + "".join(answers)
    assert base64.b64encode(token.encode()).decode() not in loads.gateway.log
