"""cautions: what is said beforehand though it is allowed."""

from typing import Any

import pytest
from plans import plan
from specs.external import EXTERNAL_BURST, EXTERNAL_USERS
from specs.relative import RELATIVE
from specs.small import SMALL
from specs.spec import Spec, changed
from sshload_operator.planning.cautions import LISTEN_BACKLOG, cautions

KNOWN_HOST_BURST = {**EXTERNAL_BURST, "target": EXTERNAL_USERS["target"]}


MIB_FILES = {"path": "up-{iteration}", "size": "1Mi"}
WRITES = {"sftpWrite": {"name": "put", **MIB_FILES}}
REMOVES = {"sftpRemove": {"name": "remove", "path": "up-{iteration}"}}
USERS = {"users": {"stages": [{"users": 300, "duration": "30s"}]}}


LATE = [{"latency": {"step": "total", "percentile": 99.9, "below": "1s"}}, {"errorRate": {"below": "1%"}}]
COMMAND = {"steps": [{"exec": {"command": "true"}}]}
POOL_OF_TEN = {"scenario": {**SMALL["scenario"], "sessionReuse": "pool", "poolSize": 10}}


def steps(*steps: Spec, **more: Any) -> Spec:
    return {**SMALL, "scenario": {"steps": list(steps), **more}}


def through_gateway(**gateway: Any) -> Spec:
    run = {"scenario": {"steps": [{"exec": {"command": "true"}}]}, "thresholds": [], "load": USERS}
    return {**SMALL, **run, "target": {"managed": {"gateway": gateway}}}


def test_an_ordinary_test_needs_no_caution() -> None:
    assert cautions(plan(SMALL)) == ()
    assert cautions(plan(EXTERNAL_USERS)) == ()


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(steps(WRITES, REMOVES), id="writes-that-are-removed"),
        pytest.param(
            steps(
                WRITES,
                {"sftpRename": {"name": "rename", "path": "up-{iteration}", "to": "b-{iteration}"}},
                {"sftpRemove": {"name": "remove", "path": "b-{iteration}"}},
            ),
            id="writes-that-are-renamed-and-removed",
        ),
        pytest.param(steps({"sftpWrite": {"path": "up", "size": "200Mi"}}), id="writes-in-place-of-the-last"),
        pytest.param(
            changed(steps(WRITES), "target.managed.fixtures", {"spare": "1Gi"}), id="writes-that-there-is-room-for"
        ),
        pytest.param(
            steps({"rsync": {"upload": {"path": "up", "files": 100, "size": "1Mi"}}}),
            id="a-mirror-in-place-of-the-last",
        ),
        pytest.param(steps({"scpWrite": {"path": "up", "size": "256Mi"}}), id="a-write-that-just-fits"),
        pytest.param({**SMALL, "load": USERS, "thresholds": LATE}, id="users-who-make-nobody-knows-how-many-samples"),
        pytest.param(
            {**changed(SMALL, "target.managed.sshd.maxSessions", 3000), **POOL_OF_TEN, "warmUp": "1s"},
            id="a-pool-that-logs-in-within-a-second",
        ),
        pytest.param(
            {
                **steps({"sftpWrite": {**WRITES["sftpWrite"], "size": "200Mi"}}, REMOVES),
                "load": {"hold": {"sessions": 10, "rampUp": "1s", "duration": "20s", "probeRate": 1}},
            },
            id="a-write-by-one-probe-at-once",
        ),
        pytest.param(
            {
                **changed(through_gateway(policy="pool"), "scenario", {**COMMAND, **POOL_OF_TEN["scenario"]}),
                "warmUp": "0s",
            },
            id="a-pool-of-connections-to-a-gateway",
        ),
        pytest.param(
            {**EXTERNAL_USERS, "scenario": {"steps": [WRITES]}, "thresholds": []},
            id="writes-to-a-server-whose-room-is-not-known",
        ),
        pytest.param(
            through_gateway(policy="connection-per-user", connectionsPerCredential=50, loginsPerHost=50),
            id="a-gateway-of-one-connection-which-is-one-login",
        ),
        pytest.param(
            through_gateway(policy="login-per-request", sessionsPerConnection=50, connectionsPerCredential=9),
            id="a-gateway-whose-connections-have-one-session",
        ),
        pytest.param(
            {
                **changed(SMALL, "load.arrivals.maxInFlight", 1000),
                "scenario": {**SMALL["scenario"], "sessionReuse": "pool", "poolSize": 50},
                "target": {"managed": {"sshd": {"maxSessions": 20}}},
            },
            id="as-many-channels-as-sessions",
        ),
        pytest.param(changed(SMALL, "client.extraKeys", 5), id="a-try-left-for-the-right-key"),
        pytest.param(
            changed(SMALL, "client", {"auth": "certificate", "certificates": {"principals": ["ops", "{user}"]}}),
            id="certificates-for-the-user-too",
        ),
        pytest.param(
            changed(changed(SMALL, "client.extraKeys", 6), "target.managed.sshd.maxAuthTries", 7), id="more-tries"
        ),
    ],
)
def test_what_fits_needs_no_caution(spec: Spec) -> None:
    assert cautions(plan(spec)) == ()


def test_a_burst_up_to_the_listen_backlog_needs_no_caution() -> None:
    assert cautions(plan(changed(KNOWN_HOST_BURST, "load.burst.connections", LISTEN_BACKLOG))) == ()


@pytest.mark.parametrize("in_path", [{}, {"proxy": {"kind": "nginx"}}], ids=["gateway", "nginx-and-gateway"])
def test_a_burst_of_requests_to_a_gateway_does_not_meet_the_listen_backlog_of_sshd(in_path: Spec) -> None:
    burst = {"burst": {"connections": LISTEN_BACKLOG + 1, "repeat": 1}}
    spec = {**steps({"exec": {"command": "true"}}), "load": burst, "thresholds": []}
    (said,) = cautions(plan(spec))
    assert "listen backlog" in said
    assert cautions(plan(changed(spec, "target.managed", {**in_path, "gateway": {"policy": "pool"}}))) == ()


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        pytest.param(
            changed(KNOWN_HOST_BURST, "load.burst.connections", LISTEN_BACKLOG + 1),
            "spec.load.burst opens up to 129 connections",
            id="burst-above-the-backlog",
        ),
        pytest.param(
            changed(SMALL, "target.managed.sshd.perSourcePenalties", "yes"),
            'perSourcePenalties is "yes"',
            id="penalties-asked-for",
        ),
        pytest.param(
            changed(SMALL, "thresholds", [{"latency": {"step": "total", "percentile": 99.9, "below": "1s"}}]),
            "spec.thresholds: p99.9 of total takes 2995 samples, and the load makes about 600",
            id="too-few-arrivals",
        ),
        pytest.param(
            {
                **changed(KNOWN_HOST_BURST, "load.burst", {"connections": 10, "repeat": 2}),
                "thresholds": [
                    {"errorRate": {"below": "15%"}},
                    {"latency": {"step": "login", "percentile": 90, "below": "1s"}},
                ],
            },
            "spec.thresholds: p90 of login takes 29 samples, and the load makes about 20",
            id="too-few-in-bursts",
        ),
        pytest.param(
            {
                **changed(KNOWN_HOST_BURST, "load.burst", {"connections": 10, "repeat": 2}),
                "thresholds": [{"errorRate": {"below": "1%"}}],
            },
            "spec.thresholds: error rate below 1 % takes 299 iterations without a failure, and the load makes about 20",
            id="too-few-for-an-error-rate",
        ),
        pytest.param(
            changed(RELATIVE, "thresholds.0.latency.percentile", 99.9),
            "p99.9 of total takes 2995 samples, and the load makes about 600",
            id="too-few-for-a-comparison-with-a-baseline",
        ),
        pytest.param(
            {
                **SMALL,
                "scenario": {**SMALL["scenario"], "sessionReuse": "pool", "poolSize": 1},
                "load": {"arrivals": {"stages": [{"rate": 20, "duration": "30s"}], "maxInFlight": 5}},
                "thresholds": [{"latency": {"step": "login", "percentile": 50, "below": "1s"}}],
            },
            "p50 of login takes 5 samples, and the load makes about 0: it cannot be judged",
            id="logins-of-a-pool",
        ),
        pytest.param(
            {**SMALL, "via": [{**EXTERNAL_BURST["target"]["external"]}]},
            "spec.via[0].insecureIgnoreHostKey is true",
            id="any-host-key-of-a-jump-host",
        ),
        pytest.param({**SMALL, "client": {"library": "paramiko"}}, "spec.client.library is paramiko", id="paramiko"),
        pytest.param({**SMALL, "client": {"library": "openssh"}}, "with sntrup761", id="openssh"),
        pytest.param(
            changed(SMALL, "client", {"auth": "certificate", "certificates": {"principals": ["ops"]}}),
            "spec.client.certificates.principals has no {user}",
            id="certificates-for-nobody",
        ),
        pytest.param(
            changed(SMALL, "client.extraKeys", 6),
            "spec.client.extraKeys offers 6 keys before the right one, and the server ends a connection after 6",
            id="more-keys-than-tries",
        ),
        pytest.param(
            {
                **changed(SMALL, "load.arrivals.maxInFlight", 1000),
                "scenario": {**SMALL["scenario"], "sessionReuse": "pool", "poolSize": 50},
            },
            "20 channels may be open on each, and spec.target.managed.sshd.maxSessions is 10",
            id="more-channels-than-sessions",
        ),
        pytest.param(
            through_gateway(policy="login-per-request", connectionsPerCredential=50, loginsPerHost=12),
            "spec.target.managed.gateway makes up to 12 logins at once, and from 10 unauthenticated connections on",
            id="a-gateway-with-more-logins-than-sshd-takes",
        ),
        pytest.param(
            through_gateway(policy="pool", sessionsPerConnection=50),
            "has up to 50 sessions on a connection, and spec.target.managed.sshd.maxSessions is 10",
            id="a-gateway-with-more-sessions-than-sshd-takes",
        ),
        pytest.param(
            through_gateway(policy="connection-per-user-unlimited"),
            "up to 300 requests share the one connection of spec.target.managed.gateway, and",
            id="a-gateway-without-a-limit-of-sessions",
        ),
        pytest.param(
            {
                **changed(SMALL, "target.managed.sshd.maxSessions", 3000),
                "warmUp": "0s",
                "scenario": {**SMALL["scenario"], "sessionReuse": "pool", "poolSize": 10},
            },
            "spec.warmUp is 0s, so that the 10 sessions of spec.scenario.poolSize log in nearly at once",
            id="a-pool-that-logs-in-at-once",
        ),
        pytest.param(
            steps(WRITES),
            "is full after 256 iterations, and the run may make up to 700",
            id="writes-that-stay",
        ),
        pytest.param(
            steps(WRITES, REMOVES, alternatives=[{"weight": 5, "steps": ["put"]}, {"weight": 5, "steps": ["remove"]}]),
            "is full after 512 iterations, and the run may make up to 700",
            id="writes-that-other-iterations-remove",
        ),
        pytest.param({**steps(WRITES), "load": USERS}, "is full after 256 iterations;", id="writes-of-users"),
        pytest.param({**steps(WRITES, REMOVES), "load": USERS}, "is full by the first iterations", id="writes-at-once"),
        pytest.param(
            steps({"scpWrite": {"path": "up", "size": "257Mi"}}),
            "is full by the first iterations",
            id="one-write-that-is-too-large",
        ),
        pytest.param(
            changed(EXTERNAL_BURST, "load.burst.connections", 1), "insecureIgnoreHostKey is true", id="any-host-key"
        ),
    ],
)
def test_a_caution_names_the_field(spec: Spec, says: str) -> None:
    (caution,) = cautions(plan(spec))
    assert says in caution


def test_a_pool_at_a_server_that_is_not_deployed_logs_in_at_once_up_to_sshds_default() -> None:
    pool = {**EXTERNAL_USERS, "warmUp": "0s", "scenario": {**COMMAND, "sessionReuse": "pool", "poolSize": 10}}
    (said,) = cautions(plan({**pool, "thresholds": []}))
    assert "and from 10 unauthenticated connections on sshd may drop some (MaxStartups)" in said
    fewer = changed(pool, "scenario.poolSize", 9)
    assert cautions(plan({**fewer, "thresholds": []})) == ()


def test_a_home_that_is_too_small_is_told_with_its_size() -> None:
    (said,) = cautions(plan(changed(steps(WRITES), "target.managed.fixtures", {"spare": "3Mi"})))
    assert said == (
        "spec.scenario writes more than it removes: spec.target.managed.fixtures.spare, 3 MiB, is full after 3"
        " iterations, and the run may make up to 700; raise it, or remove what is written (sftpRemove)"
    )


@pytest.mark.parametrize(
    ("load", "said"),
    [
        pytest.param({}, "; make the load longer", id="a-longer-load-has-more"),
        pytest.param({"scenario": {**COMMAND, "sessionReuse": "pool", "poolSize": 1}}, "", id="no-load-has-any"),
    ],
)
def test_a_longer_load_is_advised_where_it_has_samples(load: Spec, said: str) -> None:
    latency = {"latency": {"step": "login", "percentile": 99.9, "below": "1s"}}
    (caution,) = cautions(plan({**changed(SMALL, "load.arrivals.maxInFlight", 5), "thresholds": [latency], **load}))
    assert caution.partition("it cannot be judged")[2] == said


def test_more_connections_than_a_proxy_passes_on_are_spoken_of() -> None:
    spec = {**SMALL, "load": USERS}
    (said,) = cautions(plan(changed(spec, "target.managed.proxy", {"kind": "haproxy", "maxConnections": 299})))
    assert "proxy.maxConnections is 299, and spec.load.users opens up to 300 at once: the others wait" in said
    (said,) = cautions(plan(changed(spec, "target.managed.proxy", {"kind": "nginx", "maxConnections": 299})))
    assert "at once: the others fail" in said
    assert cautions(plan(changed(spec, "target.managed.proxy", {"kind": "haproxy", "maxConnections": 300}))) == ()


def by_tickets(users: int, start_timeout: str = "2m") -> Spec:
    """Return a spec with so many users, who log in by Kerberos."""
    system = {"users": users, "kerberos": {}}
    client = {"auth": "gssapi", "library": "asyncssh"}
    return {**SMALL, "target": {"managed": {"system": system}}, "client": client, "startTimeout": start_timeout}


def test_users_whose_tickets_take_a_large_part_of_the_start_are_spoken_of() -> None:
    (said,) = (one for one in cautions(plan(by_tickets(20_000))) if "gssapi" in one)
    assert "the tickets of all 20000 users, which takes it about 120 s of CPU" in said
    assert "spec.startTimeout is 120 s" in said
    for spec in (by_tickets(5_000), by_tickets(20_000, "10m")):
        assert [one for one in cautions(plan(spec)) if "gssapi" in one] == []


def of_accounts(users: int, auth: str, **client: Any) -> Spec:
    system = {"users": users, "secondFactor": "totp"} if client else {"users": users, "kerberos": {}}
    return {
        "target": {"managed": {"system": system}},
        "client": {"auth": auth, "library": "asyncssh", **client},
        "scenario": {"steps": []},
        "load": {"arrivals": {"rate": 2, "duration": "60s"}},
    }


def test_codes_that_are_used_up_are_a_caution_where_users_log_in_more_often_than_codes_change() -> None:
    def said(users: int) -> list[str]:
        spec = of_accounts(users, "publickey", prompts=[{"match": "One-time", "answer": "totp"}])
        return [one for one in cautions(plan(spec)) if "secondFactorReused" in one]

    (told,) = said(59)
    assert "about 60 logins of 59 users within 30 s" in told
    assert "about 1 of 60 will be refused" in told
    assert said(60) == []


def test_the_tickets_of_many_users_are_a_caution_where_users_get_tickets() -> None:
    def said(auth: str) -> bool:
        return any("gets the tickets" in one for one in cautions(plan(of_accounts(50_000, auth))))

    assert [said("gssapi"), said("publickey")] == [True, False]


def test_certificates_for_others_are_no_caution_where_sshd_is_told_of_them() -> None:
    spec = changed(SMALL, "client", {"auth": "certificate", "certificates": {"principals": ["ops"]}})
    spec = changed(spec, "target.managed.sshd", {"extraConfig": {"AuthorizedPrincipalsCommand": "/bin/echo ops"}})
    assert not any("has no {user}" in one for one in cautions(plan(spec)))
