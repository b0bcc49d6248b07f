"""preflight: what is refused before anything is made."""

from dataclasses import replace
from typing import Any

import pytest
from attempts import ATTEMPTS, all_but_explicit
from plans import EXTERNAL, INSTALLATION, allowing, plan
from specs.external import EXTERNAL_BURST, EXTERNAL_USERS
from specs.permitted import EVERYTHING
from specs.search import SEARCH_ARRIVALS
from specs.small import SMALL
from specs.spec import Spec, changed
from specs.tables import WHOLE
from sshload_contract.allow_list import AllowedTarget, DeniedRange
from sshload_operator.api.load_test import parse
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.planning.installation import EVERYTHING_PERMITTED, Limits, LimitsOfTest
from sshload_operator.planning.plan import Plan
from sshload_operator.planning.preflight import SOURCE_PORTS, allow_list_of_run, beyond_limits, preflight
from sshload_operator.planning.preflight import allowing as all_destinations_of
from sshload_operator.state import Reason


def planned(spec: Spec, *allowed: AllowedTarget) -> Plan:
    """Return the plan of a spec in an installation that allows these targets."""
    return plan(spec, installation=allowing(*allowed))


def external(host: str, port: int = 22) -> Spec:
    """Return a spec whose target is this one."""
    return changed(changed(EXTERNAL_USERS, "target.external.host", host), "target.external.port", port)


def rate(per_second: float, duration: str, **more: Any) -> Spec:
    """Return a spec of one stage of arrivals, without a warm-up."""
    load = {"arrivals": {"stages": [{"rate": per_second, "duration": duration}], **more}}
    return {**SMALL, "load": load, "warmUp": "0s"}


def workers(replicas: int, processes: int | None) -> Spec:
    """Return a spec with so many worker pods, and so many processes in each."""
    pods = {"replicas": replicas, **({} if processes is None else {"processesPerPod": processes})}
    return changed(changed(SMALL, "workers", pods), "load.arrivals.maxInFlight", 5_000)


@pytest.mark.parametrize("spec", [pytest.param(spec, id=name) for name, spec in WHOLE.items()])
def test_what_is_allowed_and_possible_passes(spec: Spec) -> None:
    allowed = all_destinations_of(parse(spec))
    assert preflight(plan(spec, installation=replace(INSTALLATION, external_targets=allowed))) is None


def test_who_knows_of_no_installation_allows_all_that_a_spec_names_but_for_what_is_no_host() -> None:
    spec = {**external("ssh.example.com"), "via": [{**EXTERNAL, "host": "999.1"}]}
    allowed = all_destinations_of(parse(spec))
    refusal = preflight(plan(spec, installation=replace(INSTALLATION, external_targets=allowed)))
    assert refusal is not None
    assert refusal[1].startswith("spec.via[0]: 999.1 port ")


@pytest.mark.parametrize(
    ("host", "port", "allowed"),
    [
        pytest.param("a.example.com", 22, AllowedTarget("a.example.com", (22,)), id="by-name"),
        pytest.param("A.Example.com", 22, AllowedTarget("a.example.COM", (22,)), id="whatever-the-case"),
        pytest.param("a.b.example.com", 22, AllowedTarget("*.example.com", (2222, 22)), id="by-pattern-and-port"),
        pytest.param("192.0.2.7", 22, AllowedTarget("192.0.2.0/24", (22,)), id="by-cidr"),
        pytest.param("192.0.2.7", 22, AllowedTarget("192.0.2.7", (22,)), id="by-address"),
        pytest.param("2001:db8:0::1", 22, AllowedTarget("2001:DB8::1", (22,)), id="by-address-written-otherwise"),
        pytest.param("2001:db8::1", 22, AllowedTarget("2001:db8::/32", (22,)), id="by-cidr-of-six"),
    ],
)
def test_an_allowed_target_passes(host: str, port: int, allowed: AllowedTarget) -> None:
    assert preflight(planned(external(host, port), AllowedTarget("elsewhere", (22,)), allowed)) is None


@pytest.mark.parametrize(
    ("host", "port", "allowed"),
    [
        pytest.param("a.example.com", 22, None, id="nothing-allowed"),
        pytest.param("a.example.com", 22, AllowedTarget("b.example.com", (22,)), id="another-name"),
        pytest.param("example.com", 22, AllowedTarget("*.example.com", (22,)), id="above-the-pattern"),
        pytest.param("a.example.com.evil.org", 22, AllowedTarget("*.example.com", (22,)), id="beyond-the-pattern"),
        pytest.param("192.0.3.7", 22, AllowedTarget("192.0.2.0/24", (22,)), id="outside-the-cidr"),
        pytest.param("192.0.2.70", 22, AllowedTarget("192.0.2.7", (22,)), id="an-address-that-begins-alike"),
        pytest.param("a.example.com", 22, AllowedTarget("0.0.0.0/0", (22,)), id="a-name-in-any-cidr"),
        pytest.param("2001:db8::1", 22, AllowedTarget("0.0.0.0/0", (22,)), id="six-in-four"),
    ],
)
def test_any_other_target_is_refused_by_name(host: str, port: int, allowed: AllowedTarget | None) -> None:
    refusal = preflight(planned(external(host, port), *([allowed] if allowed else [])))
    assert refusal is not None
    assert refusal[0] is Reason.TARGET_NOT_ALLOWED
    assert f"{host} port {port} is not among the external targets" in refusal[1]
    assert "externalTargets" in refusal[1]


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        pytest.param("a.example.com", AllowedTarget("a.example.com", (2201, 22)), id="by-name"),
        pytest.param("a.example.com", AllowedTarget("*.example.com", (22, 2201)), id="by-pattern"),
        pytest.param("192.0.2.7", AllowedTarget("192.0.2.0/24", (22, 2201)), id="by-cidr"),
    ],
)
def test_a_target_that_is_allowed_at_other_ports_is_refused_with_these_ports(host: str, allowed: AllowedTarget) -> None:
    elsewhere = AllowedTarget("elsewhere.example.com", (24,))
    message = (
        f"spec.target.external: the test names port 23 of {host}, where only port 22 or 2201 is allowed: set"
        " spec.target.external.port"
    )
    assert preflight(planned(external(host, 23), elsewhere, allowed)) == (Reason.TARGET_NOT_ALLOWED, message)


@pytest.mark.parametrize(("replicas", "processes"), [(200, 2), (100, 5), (7, 64), (200, None)])
def test_as_many_workers_as_a_master_can_take_pass(replicas: int, processes: int | None) -> None:
    assert preflight(plan(workers(replicas, processes))) is None


@pytest.mark.parametrize(
    ("replicas", "processes", "message"),
    [
        pytest.param(
            200,
            4,
            "there are 800 worker processes, 4 in each of 200 pods, and a run's master can take the reports of 500;"
            " set spec.workers.replicas to at most 125, or spec.workers.processesPerPod to at most 2, or split the load"
            " into several tests",
            id="many-pods",
        ),
        pytest.param(8, 64, "replicas to at most 7, or spec.workers.processesPerPod to at most 62", id="large-pods"),
    ],
)
def test_more_workers_than_a_master_can_take_are_refused_with_how_many_it_can(
    replicas: int, processes: int, message: str
) -> None:
    refusal = preflight(plan(workers(replicas, processes)))
    assert refusal is not None
    assert refusal[0] is Reason.LOAD_IMPOSSIBLE
    assert message in refusal[1]


def test_a_jump_host_must_be_allowed_as_a_target_must() -> None:
    spec = {**external("a.example.com"), "via": [EXTERNAL, {**EXTERNAL, "host": "192.0.2.7"}]}
    allowed = AllowedTarget("*.example.com", (22,))
    refusal = preflight(planned(spec, allowed))
    assert refusal is not None
    assert refusal[0] is Reason.TARGET_NOT_ALLOWED
    assert "spec.via[1]: 192.0.2.7 port 22 is not among" in refusal[1]
    assert preflight(planned(spec, allowed, AllowedTarget("192.0.2.7", (22,)))) is None


def through(host: str) -> Spec:
    """Return a spec whose way to a managed target leads through this jump host."""
    return {**SMALL, "via": [{**EXTERNAL, "host": host}]}


def forwarding(host: str) -> Spec:
    """Return a spec whose external target is asked to connect to this host."""
    return changed(EXTERNAL_BURST, "scenario.steps", [{"forward": {"host": host, "port": 22}}])


def refused(spec: Spec, *allowed: AllowedTarget) -> str:
    """Return how a spec is refused: by the parser, which takes some hosts for none, or else before anything is made."""
    try:
        found = preflight(planned(spec, *allowed))
    except SpecError as error:
        return str(error)
    assert found is not None
    assert found[0] is Reason.TARGET_NOT_ALLOWED
    return found[1]


FIELDS = {
    "spec.target.external": external,
    "spec.via[0]": through,
    "spec.scenario.steps[0].forward": forwarding,
}


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_what_is_attempted_is_refused_in_every_field(field: str, attempt: str) -> None:
    said = refused(FIELDS[field](ATTEMPTS[attempt]), *all_but_explicit(22).targets)
    assert said.startswith((f"{field}: {ATTEMPTS[attempt]} port 22 ", f"{field}.host: "))


def test_what_a_forward_step_leads_to_must_be_allowed_as_the_target_must() -> None:
    server = AllowedTarget("2001:db8::1", (22,))
    refusal = preflight(planned(forwarding("db.example.com"), server))
    assert refusal is not None
    assert "spec.scenario.steps[0].forward: db.example.com port 22 is not among" in refusal[1]
    assert preflight(planned(forwarding("db.example.com"), server, AllowedTarget("db.*", (22,)))) is None


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1"])
def test_a_managed_target_may_be_asked_to_connect_to_itself_and_to_nothing_else(host: str) -> None:
    spec = {**SMALL, "scenario": {"steps": [{"forward": {"host": host, "port": 9200}}]}}
    assert preflight(planned(spec)) is None
    assert preflight(planned(changed(spec, "scenario.steps.0.forward.host", "169.254.169.254"))) is not None


def test_an_address_in_a_range_that_the_installer_denies_is_refused_by_what_is_there() -> None:
    services = DeniedRange("10.96.0.0/12", "the cluster's services")
    anywhere = allowing(AllowedTarget("10.0.0.0/8", (22,)), denied=(services,))
    refusal = preflight(plan(external("10.96.0.1"), installation=anywhere))
    assert refusal is not None
    assert "10.96.0.1 port 22 is in 10.96.0.0/12 (the cluster's services)" in refusal[1]
    assert preflight(plan(external("10.20.0.1"), installation=anywhere)) is None


VOLUMES = {
    "configMap": "configMapVolumes",
    "secret": "secretVolumes",
    "persistentVolumeClaim": "persistentVolumeClaims",
    "emptyDir": "emptyDirVolumes",
}


PLACED = {
    "nodeSelector": {"pool": "theirs"},
    "tolerations": [{"operator": "Exists"}],
    "affinity": {"podAntiAffinity": {}},
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
    ],
    "priorityClassName": "high",
}
BROUGHT_ALONG = {
    "spec.workers.image": ({"workers": {"replicas": 1, "image": "registry.example.com/own:1"}}, "customImages"),
    "spec.target.managed.image": ({"target": {"managed": {"image": "registry.example.com/own:1"}}}, "customImages"),
    "spec.target.managed.system.userNamespace": (
        {"target": {"managed": {"system": {"userNamespace": False}}}},
        "systemTargets",
    ),
    "spec.scenario.locustfile": ({"scenario": {"locustfile": {"configMapRef": {"name": "own"}}}}, "locustfiles"),
    "spec.scenario.steps[0].forward": (
        {"scenario": {"steps": [{"forward": {"host": "localhost", "port": 2222}}]}},
        "forwardSteps",
    ),
    **{
        f"spec.{path}.{field}": (changed(SMALL, f"{path}.{field}", EVERYTHING[field]), value)
        for path in ("workers", "target.managed")
        for field, value in {
            "env": "env",
            "labels": "podLabels",
            "annotations": "podAnnotations",
            "serviceAccountName": "serviceAccountName",
            "runtimeClassName": "runtimeClassName",
        }.items()
    },
    **{
        f"spec.{path}.{field}": (changed(SMALL, f"{path}.{field}", value), field)
        for path in ("workers", "target.managed")
        for field, value in PLACED.items()
    },
    **{
        f"spec.workers.volumes[0].{kind}": (changed(SMALL, "workers.volumes", [volume]), value)
        for volume, (kind, value) in zip(EVERYTHING["volumes"], VOLUMES.items(), strict=True)
    },
}


def test_every_permission_is_one_that_some_field_takes() -> None:
    assert {value for _, value in BROUGHT_ALONG.values()} == EVERYTHING_PERMITTED


@pytest.mark.parametrize("field", BROUGHT_ALONG)
def test_what_a_test_may_bring_along_is_the_installers_choice(field: str) -> None:
    change, value = BROUGHT_ALONG[field]
    spec = {**SMALL, **change}
    assert preflight(planned(spec)) is None
    refusal = preflight(plan(spec, installation=replace(INSTALLATION, permitted=frozenset())))
    assert refusal is not None
    assert refusal[0] is Reason.NOT_PERMITTED
    assert refusal[1].startswith(f"{field}: this installation does not permit it")
    assert f"permitted.{value}" in refusal[1]


def test_an_installation_that_permits_nothing_of_a_tests_own_runs_what_a_spec_describes() -> None:
    assert preflight(plan(SMALL, installation=replace(INSTALLATION, permitted=frozenset()))) is None


def test_a_jump_host_before_a_managed_target_must_be_allowed() -> None:
    refusal = preflight(planned({**SMALL, "via": [EXTERNAL]}))
    assert refusal is not None
    assert "spec.via[0]: bastion.example.com" in refusal[1]


def test_a_pool_has_a_session_for_each_worker_process() -> None:
    workers = {"replicas": 2, "resources": {"requests": {"cpu": 4}}}
    scenario = {**SMALL["scenario"], "sessionReuse": "pool", "poolSize": 7}
    refusal = preflight(planned({**SMALL, "scenario": scenario, "workers": workers}))
    assert refusal is not None
    assert refusal[0] is Reason.LOAD_IMPOSSIBLE
    assert "poolSize is 7, and there are 8 worker processes" in refusal[1]
    assert preflight(planned({**SMALL, "scenario": {**scenario, "poolSize": 8}, "workers": workers})) is None


@pytest.mark.parametrize("field", ["spec.load.arrivals", "spec.load.capacity.arrivals"])
def test_each_worker_process_may_have_an_iteration_in_flight(field: str) -> None:
    workers = {"replicas": 2, "resources": {"requests": {"cpu": 4}}}

    def refusal(in_flight: int) -> tuple[Reason, str] | None:
        if "capacity" in field:
            spec = changed(SEARCH_ARRIVALS, "load.capacity.arrivals.maxInFlight", in_flight)
            return preflight(planned({**spec, "workers": workers}))
        return preflight(planned({**rate(20, "60s", maxInFlight=in_flight), "workers": workers}))

    refused = refusal(7)
    assert refused is not None
    assert refused[0] is Reason.LOAD_IMPOSSIBLE
    assert f"{field}.maxInFlight is 7, and there are 8 worker processes" in refused[1]
    assert "raise maxInFlight to at least 8" in refused[1]
    assert refusal(8) is None


@pytest.mark.parametrize("kind", ["sftpWrite", "scpWrite"])
def test_openssh_writes_no_file_that_is_too_large_for_the_workers_disk(kind: str) -> None:
    def refusal(size: str, library: str) -> tuple[Reason, str] | None:
        steps = [{kind: {"path": "file", "size": size}}]
        return preflight(planned({**SMALL, "scenario": {"steps": steps}, "client": {"library": library}}))

    refused = refusal("1025Mi", "openssh")
    assert refused is not None
    assert refused[0] is Reason.LOAD_IMPOSSIBLE
    assert f"spec.scenario.steps[0].{kind}.size is 1074790400 bytes" in refused[1]
    assert refusal("1Gi", "openssh") is None
    assert refusal("1025Mi", "asyncssh") is None


def test_openssh_does_all_that_writes_no_file() -> None:
    reads = [{kind: {"name": kind, "path": "file"}} for kind in ("sftpRead", "scpRead")]
    steps = [{"exec": {"name": "exec", "command": "true"}}, *reads]
    assert preflight(planned({**SMALL, "scenario": {"steps": steps}, "client": {"library": "openssh"}})) is None


def test_files_for_rsync_that_the_workers_memory_has_no_room_for_are_refused() -> None:
    def refusal(sizes: list[str], processes: int) -> tuple[Reason, str] | None:
        uploads = [{"path": "mirror", "files": 10_000, "size": size} for size in sizes]
        steps = [{"rsync": {"name": f"push{number}", "upload": upload}} for number, upload in enumerate(uploads)]
        pods = {"processesPerPod": processes}
        return preflight(planned({**SMALL, "scenario": {"steps": steps}, "workers": pods}))

    refused = refusal(["16Mi", "1Mi"], 2)
    assert refused is not None
    assert refused[0] is Reason.LOAD_IMPOSSIBLE
    assert "take 35651584 bytes of each worker pod's memory" in refused[1]
    assert refusal(["16Mi", "16Mi"], 2) is None
    assert refusal(["16Mi"], 3) is not None


def test_a_pool_needs_no_more_ports_than_it_has_sessions() -> None:
    spec = rate(5000, "10m", maxInFlight=100_000)
    assert preflight(planned(spec)) is not None
    scenario = {**SMALL["scenario"], "sessionReuse": "pool", "poolSize": 100}
    assert preflight(planned({**spec, "scenario": scenario})) is None


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        pytest.param(LimitsOfTest(rate=10, connections=50, worker_pods=1, duration_s=70), "", id="all of each"),
        pytest.param(LimitsOfTest(rate=9.5), "spec.load asks for 10 iterations per second", id="rate"),
        pytest.param(LimitsOfTest(connections=49), "spec.load asks for 50 connections at once", id="connections"),
        pytest.param(LimitsOfTest(worker_pods=0), "spec.workers.replicas asks for 1 worker pods", id="worker pods"),
        pytest.param(LimitsOfTest(duration_s=69), "spec.load asks for 70 seconds", id="duration, with the warm-up"),
    ],
)
def test_a_test_may_have_all_that_an_installations_limits_allow_and_no_more(limits: LimitsOfTest, said: str) -> None:
    spec = parse({**rate(10, "60s", maxInFlight=50), "warmUp": "10s", "workers": {"replicas": 1}})
    assert beyond_limits(spec, limits).partition(",")[0] == said


def test_held_sessions_and_their_probes_share_the_ports() -> None:
    hold = {"sessions": SOURCE_PORTS - 60, "rampUp": "1m", "duration": "5m", "probeRate": 1}
    assert preflight(planned({**SMALL, "load": {"hold": hold}})) is None
    refusal = preflight(planned({**SMALL, "load": {"hold": {**hold, "probeRate": 2}}}))
    assert refusal is not None
    assert f"needs {SOURCE_PORTS + 60} source ports" in refusal[1]


def test_held_sessions_and_those_of_a_pool_share_the_ports() -> None:
    hold = {"sessions": SOURCE_PORTS - 100, "rampUp": "1m", "duration": "5m", "probeRate": 1}
    for size, is_refused in ((100, False), (101, True)):
        scenario = {**SMALL["scenario"], "sessionReuse": "pool", "poolSize": size}
        refusal = preflight(planned({**SMALL, "load": {"hold": hold}, "scenario": scenario}))
        assert (refusal is not None and f"needs {SOURCE_PORTS + 1} source ports" in refusal[1]) is is_refused


def test_all_connections_through_a_proxy_share_the_ports_of_its_address() -> None:
    spec = changed(rate(5000, "60s"), "workers.replicas", 11)
    refusal = preflight(planned(changed(spec, "target.managed.proxy", {"kind": "haproxy"})))
    assert refusal is not None
    assert f"the address of the proxy (spec.target.managed.proxy) has {SOURCE_PORTS}" in refusal[1]
    assert "replicas" not in refusal[1]
    assert preflight(planned(changed(rate(500, "60s"), "target.managed.proxy", {"kind": "haproxy"}))) is not None


def test_a_proxy_before_a_gateway_keeps_its_connections_and_takes_no_ports_from_the_workers() -> None:
    spec = {**rate(500, "60s"), "workers": {"replicas": 4}, "scenario": {"steps": [{"exec": {"command": "true"}}]}}
    in_path = {"proxy": {"kind": "nginx"}, "gateway": {"policy": "pool"}}
    found = preflight(planned(changed(spec, "target.managed", in_path)))
    assert found is None or "source ports" not in found[1]


def test_the_workers_of_one_machine_share_the_ports_of_its_address() -> None:
    spec = changed(rate(5000, "60s"), "workers.replicas", 11)
    assert preflight(planned(spec)) is None
    here = replace(planned(spec), installation=replace(INSTALLATION, one_address=True))
    refusal = preflight(here)
    assert refusal is not None
    assert f"this machine's address has {SOURCE_PORTS}" in refusal[1]
    assert "replicas" not in refusal[1]
    assert preflight(replace(here, spec=parse(changed(rate(500, "60s"), "workers.replicas", 2)))) is not None


def test_as_many_connections_as_source_ports_pass() -> None:
    assert preflight(planned(rate(SOURCE_PORTS / 60, "10m", maxInFlight=100_000))) is None


def test_more_connections_than_source_ports_are_refused_with_the_workers_that_it_takes() -> None:
    refusal = preflight(planned(rate(5000, "60s")))
    assert refusal is not None
    assert refusal[0] is Reason.LOAD_IMPOSSIBLE
    assert refusal[1] == (
        "spec.load needs 300000 source ports within 60 s, and the worker pod has 28232, 28232 per address, which a"
        " closed connection keeps for 60 s, so about 471 new connections per second and address; set"
        " spec.workers.replicas to at least 11, or lower the load"
    )


def test_the_ports_of_several_workers_are_told_in_all_and_for_each_address() -> None:
    refusal = preflight(planned(changed(rate(5000, "60s"), "workers.replicas", 2)))
    assert refusal is not None
    assert "and the 2 worker pods have 56464, 28232 per address, which" in refusal[1]


def test_the_workers_that_it_takes_suffice() -> None:
    assert preflight(planned(changed(rate(5000, "60s"), "workers.replicas", 11))) is None


def test_a_high_rate_that_ends_before_the_ports_are_used_up_passes() -> None:
    assert preflight(planned(rate(5000, "5s"))) is None


def test_sessions_that_sleep_keep_their_ports_for_longer() -> None:
    steps = [{"sleep": "1m"}]
    spec = rate(400, "5m", maxInFlight=100_000)
    assert preflight(planned(spec)) is None
    refusal = preflight(planned(changed(spec, "scenario.steps", steps)))
    assert refusal is not None
    assert refusal[0] is Reason.LOAD_IMPOSSIBLE
    assert "needs 48000 source ports within 120 s" in refusal[1]


def test_a_burst_of_more_connections_than_source_ports_is_refused() -> None:
    spec = changed(EXTERNAL_BURST, "load.burst", {"connections": SOURCE_PORTS + 1, "repeat": 1})
    refusal = preflight(planned(spec, AllowedTarget("2001:db8::1", (22,))))
    assert refusal is not None
    assert "to at least 2" in refusal[1]


def test_more_users_than_source_ports_are_refused() -> None:
    spec = changed(EXTERNAL_USERS, "load.users.stages.0.users", 3 * SOURCE_PORTS)
    refusal = preflight(planned(spec, AllowedTarget("*", (2222,))))
    assert refusal is not None
    assert "to at least 3" in refusal[1]


def test_more_sleeping_sessions_than_may_be_in_flight_are_refused() -> None:
    spec = changed(rate(10, "1m", maxInFlight=99), "scenario.steps", [{"sleep": "4s"}, {"sleep": "6s"}])
    refusal = preflight(planned(spec))
    assert refusal is not None
    assert refusal[0] is Reason.LOAD_IMPOSSIBLE
    assert "maxInFlight is 99" in refusal[1]
    assert preflight(planned(changed(spec, "load.arrivals.maxInFlight", 100))) is None


def test_a_search_may_last_until_its_deadline_so_that_is_held_against_the_limit() -> None:
    spec = parse(SEARCH_ARRIVALS)
    assert beyond_limits(spec, LimitsOfTest(duration_s=spec.deadline_s)) == ""
    assert f"asks for {spec.deadline_s:g} seconds" in beyond_limits(spec, LimitsOfTest(duration_s=spec.deadline_s - 1))


def test_a_test_beyond_the_limits_is_refused() -> None:
    refusal = preflight(
        plan(rate(10, "60s"), installation=replace(INSTALLATION, limits=Limits(per_test=LimitsOfTest(rate=9))))
    )
    assert refusal is not None
    assert refusal == (
        Reason.LIMIT_EXCEEDED,
        "spec.load asks for 10 iterations per second, and this installation allows 9 (chart value limits.perTest)",
    )


@pytest.mark.parametrize("field", ["workers", "target.managed"])
def test_no_pod_of_a_test_has_a_priority_of_the_clusters_own(field: str) -> None:
    refusal = preflight(planned(changed(SMALL, f"{field}.priorityClassName", "system-node-critical")))
    assert refusal is not None
    assert refusal[0] is Reason.LIMIT_EXCEEDED
    assert refusal[1].startswith(f"spec.{field}.priorityClassName is system-node-critical")


def test_the_workers_know_the_entries_for_the_ports_of_their_test_and_all_that_is_denied() -> None:
    named, other = AllowedTarget("192.0.2.7", (22,)), AllowedTarget("192.0.2.8", (2222,))
    whole = allowing(named, other, denied=(DeniedRange("203.0.113.0/24", "nobody's"),))
    found = allow_list_of_run(plan(external("192.0.2.7"), installation=whole))
    assert (found.targets, found.denied) == ((named,), whole.allow_list.denied)


def test_a_locustfile_may_name_any_port_so_its_workers_know_all_entries() -> None:
    whole = allowing(AllowedTarget("192.0.2.7", (22,)), AllowedTarget("192.0.2.8", (2222,)))
    spec = {**external("192.0.2.7"), "scenario": {"locustfile": {"configMapRef": {"name": "own"}}}}
    assert allow_list_of_run(plan(spec, installation=whole)) == whole.allow_list


def test_a_kdc_must_be_allowed_as_a_target_must() -> None:
    bastion, kdc = AllowedTarget("bastion.example.com", (2222,)), AllowedTarget("kdc.example.com", (88,))
    realm = {"name": "EXAMPLE.COM", "kdcs": [{"host": "kdc.example.com"}, {"host": "192.0.2.9", "port": 8888}]}
    client = {"auth": "gssapi", "library": "asyncssh", "kerberos": {"realms": [realm]}}
    spec = changed(EXTERNAL_USERS, "client", client)
    refusal = preflight(planned(spec, bastion, kdc))
    assert refusal is not None
    assert refusal[0] is Reason.TARGET_NOT_ALLOWED
    assert "spec.client.kerberos.realms[0].kdcs[1]: 192.0.2.9 port 8888 is not among" in refusal[1]
    assert preflight(planned(spec, bastion, kdc, AllowedTarget("192.0.2.9", (8888,)))) is None
