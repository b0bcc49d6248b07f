"""Who may load which server, where the chart asks for a grant by RBAC: what a real API server says to its users."""

import json
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any

import helm
import pytest
from api_server import ApiServer, DryRun
from live_cluster import LiveCluster
from schedules import schedule_spec
from specs.external import EXTERNAL_BURST, EXTERNAL_HOLD, EXTERNAL_USERS
from specs.managed import LOCUSTFILE
from specs.small import SMALL
from specs.tables import GOOD
from sshload_operator.api.kinds import API_VERSION, COMPARISON, SCHEDULE, TEST, Kind
from sshload_operator.api.load_test import parse
from sshload_operator.planning.preflight import destinations

pytestmark = pytest.mark.xdist_group("own_api_server")

Spec = Mapping[str, Any]
OPERATOR = f"system:serviceaccount:{helm.NAMESPACE}:{helm.RELEASE}"
GRANT = 'this needs the verb "use" on the resource externaltargets.sshload.dev named "{}" in the namespace {}'


def external(host: str) -> dict[str, Any]:
    """Return a server of this name."""
    login = {"user": "probe", "credentialsSecretRef": {"name": "c"}, "insecureIgnoreHostKey": True}
    return {"host": host, **login}


def of_target(host: str) -> Spec:
    return {**SMALL, "target": {"external": external(host)}}


def gateway(host: str) -> dict[str, Any]:
    """Return a gateway of this name."""
    return {"host": host, "credential": "login-node", "tokenSecretRef": {"name": "t"}}


def of_gateway(host: str) -> Spec:
    return {**SMALL, "target": {"gateway": gateway(host)}}


def of_jump_host(host: str) -> Spec:
    return {**SMALL, "via": [external("first"), external(host)]}


def of_forward_step(host: str) -> Spec:
    return {**SMALL, "scenario": {"steps": [{"sleep": "1s"}, {"forward": {"host": host, "port": 22}}]}}


def comparison(base: Spec, *patches: Spec) -> Spec:
    variants = [{"name": f"v{number}", "patch": patch} for number, patch in enumerate(patches)]
    return {"base": base, "variants": [{"name": "as-it-is"}, *variants]}


FIELDS: Mapping[str, tuple[Kind, Callable[[str], Spec]]] = {
    "target": (TEST, of_target),
    "gateway": (TEST, of_gateway),
    "jump host": (TEST, of_jump_host),
    "forward step": (TEST, of_forward_step),
    "schedule's target": (SCHEDULE, lambda host: schedule_spec(testTemplate={"spec": of_target(host)})),
    "schedule's gateway": (SCHEDULE, lambda host: schedule_spec(testTemplate={"spec": of_gateway(host)})),
    "schedule's jump host": (SCHEDULE, lambda host: schedule_spec(testTemplate={"spec": of_jump_host(host)})),
    "schedule's forward step": (SCHEDULE, lambda host: schedule_spec(testTemplate={"spec": of_forward_step(host)})),
    "base's target": (COMPARISON, lambda host: comparison(of_target(host), {})),
    "base's gateway": (COMPARISON, lambda host: comparison(of_gateway(host), {})),
    "base's jump host": (COMPARISON, lambda host: comparison(of_jump_host(host), {})),
    "base's forward step": (COMPARISON, lambda host: comparison(of_forward_step(host), {})),
    "patch's target": (COMPARISON, lambda host: comparison(SMALL, {}, {"target": {"external": {"host": host}}})),
    "patch's gateway": (
        COMPARISON,
        lambda host: comparison(SMALL, {}, {"target": {"managed": None, "gateway": gateway(host)}}),
    ),
    "patch's jump host": (COMPARISON, lambda host: comparison(SMALL, {}, {"via": [external(host)]})),
    "patch's forward step": (
        COMPARISON,
        lambda host: comparison(SMALL, {"scenario": of_forward_step(host)["scenario"]}),
    ),
}  # fmt: skip
"""Each field by which an object names another machine."""

# What a spec may hold that has to do with no server, and what a managed target is to itself.
HARMLESS: Mapping[str, tuple[Kind, Spec]] = {
    "a managed target": (TEST, SMALL),
    "a forward to the managed target itself": (TEST, of_forward_step("localhost")),
    "a forward to the managed target's loopback": (TEST, of_forward_step("127.0.0.9")),
    "free code without a server": (TEST, {**LOCUSTFILE, "workers": {"image": "registry.example.com/own:1"}}),
    "a schedule": (SCHEDULE, schedule_spec()),
    "a comparison": (COMPARISON, comparison(SMALL, {"target": None, "via": None, "scenario": None})),
    "a sweep": (COMPARISON, {"base": SMALL, "sweep": {"field": "load.arrivals.rate", "values": "1,2"}}),
    "a patch of nulls": (
        COMPARISON,
        comparison(
            SMALL, {"target": {"managed": None, "external": None, "gateway": None}, "scenario": {"steps": None}}
        ),
    ),
}


class Team:
    """A namespace, and users in it who may write all objects of ours; each may use the servers that were granted."""

    def __init__(self, cluster: LiveCluster) -> None:
        self.cluster = cluster
        plurals = [kind.plural for kind in (TEST, SCHEDULE, COMPARISON)]
        rule = {"apiGroups": ["sshload.dev"], "resources": [*plurals, f"{TEST.plural}/status"], "verbs": ["*"]}
        self.bind("writers", rule, "alice", "bob", OPERATOR)

    def bind(self, name: str, rule: Mapping[str, Any], *users: str) -> None:
        """Let users do what a rule says."""
        api = "rbac.authorization.k8s.io"
        kind = {"apiVersion": f"{api}/v1", "metadata": {"name": name}}
        subjects = [{"apiGroup": api, "kind": "User", "name": user} for user in users]
        reference = {"apiGroup": api, "kind": "Role", "name": name}
        self.cluster.apply(
            {**kind, "kind": "Role", "rules": [rule]},
            {**kind, "kind": "RoleBinding", "roleRef": reference, "subjects": subjects},
        )

    def grant(self, user: str, *hosts: str) -> None:
        """Let a user load these servers, all servers without any, and wait until the authorizer has heard of it."""
        rule: dict[str, Any] = {"apiGroups": ["sshload.dev"], "resources": ["externaltargets"], "verbs": ["use"]}
        self.bind(f"servers-of-{user}", {**rule, "resourceNames": list(hosts)} if hosts else rule, user)
        self.cluster.gone(lambda: self._is_denied(user, hosts or ("",)), "lack of the grant")

    def _is_denied(self, user: str, hosts: tuple[str, ...]) -> bool:
        """Tell whether the user may not load one of these servers."""
        resource = {
            "namespace": self.cluster.namespace,
            "group": "sshload.dev",
            "resource": "externaltargets",
            "verb": "use",
        }
        kind = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
        asked = [{**kind, "spec": {"user": user, "resourceAttributes": {**resource, "name": host}}} for host in hosts]
        return not all(answer["status"]["allowed"] for answer in self.cluster.create(*asked))

    def refusal(self, kind: Kind, spec: Spec, user: str = "alice") -> str:
        """Return what the API server says to a user who would create an object, empty where it takes it."""
        return DryRun(self.cluster, kind, user).refusal(spec)

    def write(self, user: str, verb: str, *arguments: str, stdin: str = "") -> str:
        """Return what kubectl says to a user who writes."""
        return self.cluster.kubectl(verb, f"--as={user}", *arguments, stdin=stdin, check=False)


@pytest.fixture(scope="module")
def policy(own_api_server: ApiServer) -> Iterator[None]:
    """Apply the policy of the chart, and wait until it is in force."""
    documents = [found for found in helm.objects("--set", "externalTargetGrants.required=true")
                 if found["kind"].startswith("ValidatingAdmissionPolicy")]  # fmt: skip
    assert len(documents) == 2
    somewhere = Team(own_api_server.namespace())
    somewhere.cluster.apply(*documents)
    somewhere.cluster.gone(lambda: not somewhere.refusal(TEST, of_target("any")), "lack of the policy")
    yield
    for found in documents:
        somewhere.cluster.delete(found["kind"], found["metadata"]["name"])
    somewhere.cluster.gone(lambda: somewhere.refusal(TEST, of_target("any")), "policy")


@pytest.fixture
def team(policy: None, cluster: LiveCluster) -> Team:  # noqa: ARG001 - it is in force while tests run
    """Return a team in the test's namespace. Nobody in it may use a server yet."""
    team = Team(cluster)
    cluster.gone(lambda: "cannot create" in team.refusal(TEST, SMALL), "lack of the right to create tests")
    return team


@pytest.mark.parametrize("field", FIELDS)
def test_a_server_may_be_named_by_whom_it_was_granted_to_and_by_nobody_else(team: Team, field: str) -> None:
    kind, spec_of = FIELDS[field]
    team.grant("alice", "bastion.example.com", "first")
    assert team.refusal(kind, spec_of("bastion.example.com")) == ""
    others = spec_of("other.example.com")
    assert GRANT.format("other.example.com", team.cluster.namespace) in team.refusal(kind, others)
    assert "bob may not load" in team.refusal(kind, spec_of("bastion.example.com"), "bob")


@pytest.mark.parametrize("what", HARMLESS)
def test_a_spec_that_names_no_server_needs_no_grant(team: Team, what: str) -> None:
    kind, spec = HARMLESS[what]
    assert team.refusal(kind, spec) == ""


@pytest.mark.parametrize(
    "field", ["target.external.host", "via.0.host", "scenario.steps.1.forward.host", "scenario.locustfile.key",
              "workers.image", "target.managed.image", "target.external", "target.gateway.host", "via"]
)  # fmt: skip
def test_a_sweep_of_a_server_or_of_free_code_needs_all_servers(team: Team, field: str) -> None:
    spec = {"base": SMALL, "sweep": {"field": field, "values": "bastion.example.com,other.example.com"}}
    team.grant("alice", "bastion.example.com", "other.example.com")
    assert f"alice may not sweep {field}" in team.refusal(COMPARISON, spec)
    team.grant("alice")
    assert team.refusal(COMPARISON, spec) == ""


def test_a_name_that_is_written_otherwise_or_an_address_is_another_server(team: Team) -> None:
    team.grant("alice", "bastion.example.com")
    for host in ("Bastion.example.com", "192.0.2.1", "2001:db8::1", "example.com"):
        assert f"alice may not load {host}:" in team.refusal(TEST, of_target(host))
    team.grant("alice", "2001:db8::1")
    assert team.refusal(TEST, of_target("2001:db8::1")) == ""


def test_a_grant_holds_in_its_own_namespace_only(team: Team, api_server: ApiServer) -> None:
    elsewhere = Team(api_server.namespace())
    elsewhere.grant("alice", "bastion.example.com")
    assert elsewhere.refusal(TEST, of_target("bastion.example.com")) == ""
    assert "alice may not load bastion.example.com" in team.refusal(TEST, of_target("bastion.example.com"))


def test_the_policy_asks_for_exactly_what_the_operator_takes_for_a_destination(team: Team) -> None:
    named = {name: {found.host for found in destinations(parse(spec))} for name, spec in GOOD.items()}
    hosts = set().union(*named.values())
    assert hosts >= {"bastion.example.com", "2001:db8::1", "inside", "api.example.com"}
    assert all(bool(team.refusal(TEST, spec)) == bool(named[name]) for name, spec in GOOD.items())
    for missing in hosts:
        team.grant("alice", *hosts - {missing}, "another")
        for name in (name for name, found in named.items() if found):
            said = team.refusal(TEST, GOOD[name])
            assert (f"may not load {missing}:" in said) is (missing in named[name]), f"{name}: {said}"


@pytest.mark.parametrize(
    "code",
    [
        {"workers": {"image": "registry.example.com/own:1"}},
        {"scenario": {"locustfile": {"configMapRef": {"name": "code"}}}},
    ],
    ids=["a worker's image", "a locustfile"],
)
def test_free_code_may_be_brought_to_servers_by_who_may_load_all_of_them(team: Team, code: Spec) -> None:
    spec = {**of_target("bastion.example.com"), **code}
    team.grant("alice", "bastion.example.com")
    assert "may not load servers by a locustfile or an image of the test's own" in team.refusal(TEST, spec)
    team.grant("bob")
    assert team.refusal(TEST, spec, "bob") == ""


def test_twenty_servers_are_asked_for_one_by_one_and_for_more_the_grant_must_be_for_all(team: Team) -> None:
    hosts = [f"server-{number}" for number in range(21)]

    def naming(count: int) -> Spec:
        named = hosts[:count]
        steps = [{"forward": {"name": host, "host": host, "port": 22}} for host in named[:10]]
        patches = [{"via": [external(host) for host in named[start : start + 5]]} for start in range(10, count, 5)]
        return comparison({**SMALL, "scenario": {"steps": steps}}, *patches)

    team.grant("alice", *hosts)
    assert team.refusal(COMPARISON, naming(20)) == ""
    assert "alice may not load more than 20 servers by one object" in team.refusal(COMPARISON, naming(21))
    team.grant("bob")
    assert team.refusal(COMPARISON, naming(21), "bob") == ""


def test_who_has_no_grant_may_change_anything_but_the_spec(team: Team) -> None:
    team.grant("alice", "bastion.example.com")
    body = {
        "apiVersion": API_VERSION,
        "kind": TEST.name,
        "metadata": {"name": "t"},
        "spec": of_target("bastion.example.com"),
    }
    assert "created" in team.write("alice", "create", "-f", "-", stdin=json.dumps(body))
    metadata = {"metadata": {"labels": {"a": "b"}, "finalizers": ["example.com/f"]}}
    for change, more in (
        (metadata, ()),
        ({"metadata": {"finalizers": None}}, ()),
        ({"status": {"phase": "Pending"}}, ("--subresource=status",)),
    ):
        said = team.write("bob", "patch", "slt", "t", "--type=merge", "-p", json.dumps(change), *more)
        assert "patched" in said, said
    longer = json.dumps({"spec": {"triggers": {"again": "1"}}})
    assert "bob may not load bastion.example.com" in team.write(
        "bob", "patch", "slt", "t", "--type=merge", "-p", longer
    )
    assert "patched" in team.write("alice", "patch", "slt", "t", "--type=merge", "-p", longer)
    other = json.dumps({"spec": {"target": {"external": {"host": "other"}}}})
    assert "alice may not load other" in team.write("alice", "patch", "slt", "t", "--type=merge", "-p", other)
    assert "deleted" in team.write("bob", "delete", "slt", "t")


def test_the_operator_makes_the_tests_of_objects_that_were_checked_and_may_not_write_such_objects(team: Team) -> None:
    assert team.refusal(TEST, EXTERNAL_HOLD, OPERATOR) == ""
    assert team.refusal(TEST, EXTERNAL_BURST, OPERATOR) == ""
    assert "may not load" in team.refusal(SCHEDULE, schedule_spec(testTemplate={"spec": EXTERNAL_USERS}), OPERATOR)
    another = OPERATOR.replace(helm.NAMESPACE, team.cluster.namespace)
    assert "cannot create" in team.refusal(TEST, EXTERNAL_HOLD, another)
    team.bind("another", {"apiGroups": ["sshload.dev"], "resources": [TEST.plural], "verbs": ["create"]}, another)
    team.cluster.gone(
        lambda: "cannot create" in team.refusal(TEST, SMALL, another), "lack of the right to create tests"
    )
    assert "may not load" in team.refusal(TEST, EXTERNAL_HOLD, another)


def test_an_object_of_the_largest_kind_is_judged_within_the_cost_that_the_api_server_allows(team: Team) -> None:
    longest = "x" * 60 + ".example.com"
    steps = [{"forward": {"host": longest, "port": 22, "name": f"s{number}"}} for number in range(10)]
    base = {**deepcopy(dict(SMALL)), "scenario": {"steps": steps}}
    via = [external(f"{letter}.{longest}") for letter in "abcde"]
    spec = comparison(base, *({"via": via, "scenario": {"steps": steps}} for _ in range(9)))
    team.grant("alice", longest, *(f"{letter}.{longest}" for letter in "abcde"))
    assert team.refusal(COMPARISON, spec) == ""


def test_a_namespaced_install_cannot_ask_for_grants() -> None:
    asked = "namespaced=true,externalTargetGrants.required=true"
    done = helm.helm("template", helm.RELEASE, helm.CHART, "--values", helm.NEEDED_VALUES, "--set", asked)
    assert done.returncode != 0
    assert "externalTargetGrants.required needs a cluster-wide install" in done.stderr


def test_no_grant_is_asked_for_unless_the_installation_says_so() -> None:
    assert not [found for found in helm.objects() if found["kind"].startswith("ValidatingAdmissionPolicy")]
