"""What a plan's author should know beforehand, though nothing forbids the run."""

from collections.abc import Iterator
from math import ceil, inf

from sshload_contract.client import Library
from sshload_contract.gateway_policy import PolicyName
from sshload_contract.judgement.binomial import tries_needed
from sshload_contract.load import BurstLoad
from sshload_contract.quantities import resource_amount
from sshload_contract.thresholds import ThresholdKind
from sshload_contract.wire.run_config import SessionReuse

from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.api.targets import ManagedTarget
from sshload_operator.planning.estimates import likely_trials, most_attempts, most_load, most_samples, written_bytes
from sshload_operator.planning.plan import Plan
from sshload_operator.planning.proxy_programs import PROXY_PROGRAMS
from sshload_operator.planning.search_cautions import search_cautions

# sshd passes SSH_LISTEN_BACKLOG to listen(2), and it is not configurable.
LISTEN_BACKLOG = 128
# sshd_config(5), MaxSessions.
_MAX_SESSIONS_OF_SSHD = 10
# MaxStartups of sshd_config(5) is 10:30:100: from ten on, some are dropped.
_START_OF_MAX_STARTUPS = 10
_MIB = 1024 * 1024
# CPU for a connection with one command against a server double, ssh2-python's being 0.9 ms; OpenSSH's programs against
# a real sshd, by key exchange.
_CPU_OF_LIBRARIES = {
    Library.PARAMIKO: "2.9 ms of CPU for each connection with a command, where ssh2-python takes 0.9 ms",
    Library.ASYNCSSH: "2.9 to 3.8 ms of CPU for each connection with a command, where ssh2-python takes 0.9 ms",
    Library.OPENSSH: (
        "15 ms of CPU for each connection with a command, and 90 to 105 ms with sntrup761 for its key exchange, where"
        " ssh2-python takes 1.8 ms"
    ),
}
# Of an idle session of OpenSSH 10.0 in a container, without privileges: two processes, and the kernel's share.
_SESSION_MB = 2.2
_MEGA = 1_000_000


def cautions(plan: Plan) -> tuple[str, ...]:
    """Return one sentence for each, naming the field; empty if there is nothing to say."""
    return (
        *_of_servers(plan),
        *_burst_above_backlog(plan),
        *_penalties(plan),
        *_too_few_samples(plan),
        *_costly_library(plan),
        *_channels_above_max_sessions(plan),
        *_gateway_beyond_sshd(plan),
        *_home_too_small(plan),
        *_pool_logs_in_at_once(plan),
        *_deleted_and_applied_anew(plan),
        *_full_proxy(plan),
        *hold_cautions(plan),
        *search_cautions(plan),
    )


def _of_servers(plan: Plan) -> Iterator[str]:
    for field, server in plan.spec.servers.items():
        yield from server.cautions(field)


def _burst_above_backlog(plan: Plan) -> Iterator[str]:
    load = most_load(plan.spec)
    field = "spec.load.burst.connections" if plan.spec.capacity is None else "spec.load.capacity.burst.max"
    if isinstance(load, BurstLoad) and load.connections > LISTEN_BACKLOG and plan.spec.target.access.speaks_ssh:
        yield (
            f"{field} is {load.connections}, and sshd's listen backlog is {LISTEN_BACKLOG}: if it is full, TCP tries"
            f" a connection again after 1 s, 3 s and so on, which adds to its connect latency; or the client counts"
            f" it as connected although sshd never sees it (bannerTimeout). No setting of MaxStartups changes that"
        )


def _penalties(plan: Plan) -> Iterator[str]:
    target = plan.spec.managed
    if target is not None and target.sshd.per_source_penalties != "no":
        yield (
            f'spec.target.managed.sshd.perSourcePenalties is "{target.sshd.per_source_penalties}": after a few failed'
            " logins the server refuses the workers' addresses, and with them valid logins"
        )


def _too_few_samples(plan: Plan) -> Iterator[str]:
    spec = plan.spec
    if spec.capacity is not None:
        return
    for threshold in (*spec.thresholds, *spec.relative_thresholds):
        yield from _too_few_attempts(spec, threshold)
        asked = threshold.asked_percentile
        if asked is None:
            continue
        needed, samples = asked.samples_needed, most_samples(spec, spec.load, asked.step)
        if samples is not None and samples < needed:
            longer = "; make the load longer" if samples else ""
            yield (
                f"spec.thresholds: {asked.words} takes {needed} samples,"
                f" and the load makes about {samples:.0f}: it cannot be judged{longer}"
            )


def _too_few_attempts(spec: LoadTestSpec, threshold: ThresholdKind) -> Iterator[str]:
    if threshold.allowed_failures is None:
        return
    needed, made = tries_needed(0, 1, threshold.allowed_failures), most_attempts(spec)
    if needed is not None and made is not None and made < needed:
        yield (
            f"spec.thresholds: {threshold.words} takes {needed} iterations without a failure, and the load makes"
            f" about {made:.0f}: it cannot be met; make the load longer"
        )


def _costly_library(plan: Plan) -> Iterator[str]:
    library = plan.spec.client.library
    if library in _CPU_OF_LIBRARIES:
        yield (
            f"spec.client.library is {library}, which takes about {_CPU_OF_LIBRARIES[library]}: give the workers CPUs"
            " for it, or they are what is measured"
        )


def _channels_above_max_sessions(plan: Plan) -> Iterator[str]:
    """Speak of a pool whose sessions carry more channels at once than the server takes on one connection."""
    target, scenario, at_once = plan.spec.managed, plan.spec.scenario, most_load(plan.spec).most_at_once
    if target is None or scenario.session_reuse is not SessionReuse.POOL or at_once is None:
        return
    if target.gateway is not None:  # the pool is of HTTP connections
        return
    allowed = _max_sessions(target)
    needed = ceil(at_once / scenario.pool_sessions)
    if needed > allowed:
        yield (
            f"up to {at_once} iterations share the {scenario.pool_sessions} sessions of spec.scenario.poolSize, so that"
            f" {needed} channels may be open on each, and spec.target.managed.sshd.maxSessions is {allowed}: those"
            " beyond it end in channelRefused"
        )


def _gateway_beyond_sshd(plan: Plan) -> Iterator[str]:
    """Speak of logins or sessions that the run's gateway may ask for at once, and sshd refuses."""
    target, at_once = plan.spec.managed, most_load(plan.spec).most_at_once
    if target is None or target.gateway is None:
        return
    gateway, most = target.gateway, inf if at_once is None else at_once
    connections = 1 if gateway.policy.has_one_connection else gateway.connections_per_credential
    logins, start = min(gateway.logins_per_host, connections, most), _start_of_max_startups(target)
    if logins >= start:
        yield (
            f"spec.target.managed.gateway makes up to {logins} logins at once, and from {start} unauthenticated"
            " connections on sshd may drop some (MaxStartups), which the gateway tries again later: lower loginsPerHost"
            " or raise spec.target.managed.sshd.maxStartups"
        )
    allowed = _max_sessions(target)
    if gateway.policy is PolicyName.CONNECTION_PER_USER_UNLIMITED and most > allowed:
        yield (
            f"up to {most} requests share the one connection of spec.target.managed.gateway, and"
            f" spec.target.managed.sshd.maxSessions is {allowed}: those beyond it end in badGateway"
        )
    sessions = min(gateway.sessions_per_connection, most)
    if gateway.policy in {PolicyName.CONNECTION_PER_USER, PolicyName.POOL} and sessions > allowed:
        yield (
            f"spec.target.managed.gateway has up to {sessions} sessions on a connection, and"
            f" spec.target.managed.sshd.maxSessions is {allowed}: those beyond it are refused until the gateway has"
            " learned that; lower sessionsPerConnection"
        )


def _max_sessions(target: ManagedTarget) -> int:
    return _MAX_SESSIONS_OF_SSHD if target.sshd.max_sessions is None else target.sshd.max_sessions


def _start_of_max_startups(target: ManagedTarget) -> int:
    """Return from how many unauthenticated connections on sshd may drop some."""
    told = target.sshd.max_startups
    return _START_OF_MAX_STARTUPS if told is None else int(told.split(":")[0])


def _home_too_small(plan: Plan) -> Iterator[str]:
    """Speak of writes that fill a managed target's home: its pod is evicted then, and the run lost.

    Between the trials of a search nothing is taken away.
    """
    target, load = plan.spec.managed, most_load(plan.spec)
    if target is None:
        return
    written = written_bytes(plan.spec.scenario.steps)
    certain_at_once = 1 if load.drops_arrivals else load.most_at_once or 1
    room_bytes = target.fixtures.spare_bytes - written.once - written.while_running * certain_at_once
    trials = 1 if plan.spec.capacity is None else likely_trials(plan.spec.capacity, load)
    measured = load.iterations
    iterations = None if measured is None else trials * (measured + load.warm_up_iterations(plan.spec.warm_up_s))
    if room_bytes < 0:
        filled = "by the first iterations"
    elif written.each and (iterations is None or iterations * written.each > room_bytes):
        makes = "load makes about" if plan.spec.capacity is None else "search may make up to"
        known = "" if iterations is None else f", and the {makes} {iterations:.0f}"
        filled = f"after {room_bytes // written.each} iterations{known}"
    else:
        return
    yield (
        "spec.scenario writes more than it removes: spec.target.managed.fixtures.spare,"
        f" {target.fixtures.spare_bytes / _MIB:g} MiB, is full {filled}; raise it, or remove what is written"
        " (sftpRemove)"
    )


def _pool_logs_in_at_once(plan: Plan) -> Iterator[str]:
    """Speak of a pool without a warm-up to log in within: its logins may be what MaxStartups is there to drop."""
    target, scenario = plan.spec.managed, plan.spec.scenario
    if (
        scenario.session_reuse is not SessionReuse.POOL
        or plan.spec.warm_up_s > 0
        or not plan.spec.target.access.speaks_ssh
    ):
        return
    start = _START_OF_MAX_STARTUPS if target is None else _start_of_max_startups(target)
    if scenario.pool_sessions >= start:
        yield (
            f"spec.warmUp is 0s, so that the {scenario.pool_sessions} sessions of spec.scenario.poolSize log in nearly"
            f" at once, and from {start} unauthenticated connections on sshd may drop some (MaxStartups): set a warmUp,"
            " in the first half of which they log in evenly"
        )


def _deleted_and_applied_anew(plan: Plan) -> Iterator[str]:
    """Speak of a test that goes when its time is over, and comes back from Git: a load test without end."""
    applier, live = plan.test.applier, plan.spec.time_to_live
    if applier and (live.passed_s is not None or live.failed_s is not None):
        yield (
            f"spec.ttlAfterFinished deletes the test, and {applier} keeps it as it is in Git: it is applied again then,"
            " and runs again, without end; leave ttlAfterFinished out"
        )


def _full_proxy(plan: Plan) -> Iterator[str]:
    """Speak of more connections than the proxy passes on. A search is to find that out.

    The bound of arrivals in flight says nothing of how many there will be.
    """
    proxy, load = plan.spec.proxy, plan.spec.load
    most = 0 if load.drops_arrivals else load.most_connections
    if proxy is not None and plan.spec.capacity is None and most > proxy.max_connections:
        others = "wait at the proxy, in their banner latency" if PROXY_PROGRAMS[proxy.kind].queues else "fail"
        yield (
            f"spec.target.managed.proxy.maxConnections is {proxy.max_connections}, and spec.load opens up to {most} at"
            f" once: the others {others}; raise maxConnections unless that is what you measure"
        )


def hold_cautions(plan: Plan) -> Iterator[str]:
    """Speak of more sessions than the memory limit of a managed target has room for. A search is to find that out."""
    target, load = plan.spec.managed, plan.spec.load
    if target is None or not load.held_sessions or plan.spec.capacity is not None:
        return
    limit = target.resources.get("limits", {}).get("memory")
    if limit is None or plan.installation.one_address:
        return
    needed_mb = load.held_sessions * _SESSION_MB
    if needed_mb * _MEGA > resource_amount(limit):
        yield (
            f"spec.target.managed.resources.limits.memory is {limit}, and {load.held_sessions} held sessions take about"
            f" {needed_mb:,.0f} MB, {_SESSION_MB:g} MB each: the kernel kills sshd's processes where that is full"
        )
