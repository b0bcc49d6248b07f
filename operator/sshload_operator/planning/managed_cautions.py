"""What the author of a plan should know beforehand of the server that the run makes, and of what is before it."""

from collections.abc import Iterator
from math import ceil, inf

from sshload_contract.client import Auth
from sshload_contract.quantities import resource_amount
from sshload_contract.users import USER_MARK
from sshload_contract.wire.run_config import SessionReuse

from sshload_operator.api.targets import ManagedTarget
from sshload_operator.planning.estimates import written_bytes
from sshload_operator.planning.plan import Plan
from sshload_operator.planning.proxy_programs import PROXY_PROGRAMS

_MIB = 1024 * 1024
# Of an idle session of OpenSSH 10.0 in a container, without privileges: two processes, and the kernel's share.
_SESSION_MB = 2.2
_MEGA = 1_000_000
_TICKETS_CPU_S = 0.006
"""Of a worker, for the tickets of one user: most of it derives the user's key from the password (RFC 3962)."""
_PART_OF_START = 0.25


def managed_cautions(plan: Plan, target: ManagedTarget) -> tuple[str, ...]:
    """Return one sentence for each, naming the field; empty if there is nothing to say."""
    return (
        *_penalties(target),
        *_channels_above_max_sessions(plan, target),
        *_no_try_left(plan, target),
        *_for_nobody(plan, target),
        *_of_programs_in_path(plan, target),
        *_home_too_small(plan, target),
        *_full_proxy(plan, target),
        *_too_many_held_sessions(plan, target),
        *_more_than_a_user_may(plan, target),
        *_tickets_of_many_users(plan, target),
    )


def _tickets_of_many_users(plan: Plan, target: ManagedTarget) -> Iterator[str]:
    """Speak of users whose tickets take a large part of the time in which the workers may become ready."""
    users, start_timeout_s = 0 if target.system is None else target.system.users, plan.spec.start_timeout_s
    cpu_s = users * _TICKETS_CPU_S
    if plan.spec.auth is Auth.GSSAPI and cpu_s > start_timeout_s * _PART_OF_START:
        yield (
            f"spec.client.auth is gssapi: before the load each worker gets the tickets of all {users} users, which"
            f" takes it about {cpu_s:.0f} s of CPU and 4 KiB of memory for each, and spec.startTimeout is"
            f" {start_timeout_s:g} s: raise it, or lower spec.target.managed.system.users"
        )


def _more_than_a_user_may(plan: Plan, target: ManagedTarget) -> Iterator[str]:
    """Speak of a load of one user that has more sessions at once than pam_limits allows a user."""
    system, most = target.system, plan.spec.load.largest.most_connections
    if system is None or system.max_logins is None or system.users > 1 or most <= system.max_logins:
        return
    yield (
        f"spec.target.managed.system.maxLogins allows {system.max_logins} logins of a user at once, and this load has"
        f" up to {most} of its only user: set spec.target.managed.system.users, and each login is of another one"
    )


def _penalties(target: ManagedTarget) -> Iterator[str]:
    if target.sshd.per_source_penalties != "no":
        yield (
            f'spec.target.managed.sshd.perSourcePenalties is "{target.sshd.per_source_penalties}": after a few failed'
            " logins the server refuses the workers' addresses, and with them valid logins"
        )


def _channels_above_max_sessions(plan: Plan, target: ManagedTarget) -> Iterator[str]:
    """Speak of a pool whose sessions carry more channels at once than the server takes on one connection."""
    scenario, at_once = plan.spec.scenario, plan.spec.load.largest.most_at_once
    if scenario.session_reuse is not SessionReuse.POOL or at_once is None:
        return
    if not target.access.speaks_ssh:  # the pool is of HTTP connections
        return
    allowed = target.sshd.most_sessions
    needed = ceil(at_once / scenario.pool_sessions)
    if needed > allowed:
        yield (
            f"up to {at_once} iterations share the {scenario.pool_sessions} sessions of spec.scenario.poolSize, so that"
            f" {needed} channels may be open on each, and spec.target.managed.sshd.maxSessions is {allowed}: those"
            " beyond it end in channelRefused"
        )


def _no_try_left(plan: Plan, target: ManagedTarget) -> Iterator[str]:
    extra, tries = plan.spec.client.extra_keys or 0, target.sshd.most_auth_tries
    if extra >= tries:
        yield (
            f"spec.client.extraKeys offers {extra} keys before the right one, and the server ends a connection after"
            f" {tries} (spec.target.managed.sshd.maxAuthTries): every login ends in tooManyAuthFailures"
        )


def _for_nobody(plan: Plan, target: ManagedTarget) -> Iterator[str]:
    """Speak of certificates that are not for their user, where sshd is not told of other principals."""
    certificates = plan.spec.client.certificates
    told = any(name.lower().startswith("authorizedprincipals") for name in target.sshd.extra_config)
    if certificates is not None and USER_MARK not in certificates.principals and not told:
        yield (
            "spec.client.certificates.principals has no {user}, and sshd takes certificates for the user who logs in"
            " only: add it, or set AuthorizedPrincipalsCommand in spec.target.managed.sshd.extraConfig"
        )


def _of_programs_in_path(plan: Plan, target: ManagedTarget) -> Iterator[str]:
    at_once = plan.spec.load.largest.most_at_once
    for program in target.in_path.values():
        yield from program.cautions(inf if at_once is None else at_once, target.sshd)


def _home_too_small(plan: Plan, target: ManagedTarget) -> Iterator[str]:
    """Speak of writes that fill a managed target's home: its pod is evicted then, and the run lost.

    Between the trials of a search nothing is taken away.
    """
    load = plan.spec.load.largest
    written = written_bytes(plan.spec.scenario)
    certain_at_once = 1 if load.drops_arrivals else load.most_at_once or 1
    room_bytes = target.fixtures.spare_bytes - written.once - written.while_running * certain_at_once
    measured = load.iterations
    iterations = (
        None
        if measured is None
        else plan.spec.load.likely_trials * (measured + load.warm_up_iterations(plan.spec.warm_up_s))
    )
    if room_bytes < 0:
        filled = "by the first iterations"
    elif written.each and (iterations is None or iterations * written.each > room_bytes):
        known = "" if iterations is None else f", and the run may make up to {iterations:.0f}"
        filled = f"after {room_bytes // written.each} iterations{known}"
    else:
        return
    yield (
        "spec.scenario writes more than it removes: spec.target.managed.fixtures.spare,"
        f" {target.fixtures.spare_bytes / _MIB:g} MiB, is full {filled}; raise it, or remove what is written"
        " (sftpRemove)"
    )


def _full_proxy(plan: Plan, target: ManagedTarget) -> Iterator[str]:
    """Speak of more connections than the proxy passes on. Only that of a search's least trial is not to find that out.

    The bound of arrivals in flight says nothing of how many there will be.
    """
    proxy, load = target.proxy, plan.spec.load.least
    most = 0 if load.drops_arrivals else load.most_connections
    if proxy is not None and most > proxy.max_connections:
        others = "wait at the proxy, in their banner latency" if PROXY_PROGRAMS[proxy.kind].queues else "fail"
        yield (
            f"spec.target.managed.proxy.maxConnections is {proxy.max_connections}, and"
            f" spec.{plan.spec.load.field} opens up to {most} at once: the others {others}; raise maxConnections unless"
            " that is what you measure"
        )


def _too_many_held_sessions(plan: Plan, target: ManagedTarget) -> Iterator[str]:
    """Speak of more sessions than the memory limit of a managed target has room for, if only in the least trial."""
    load = plan.spec.load.least
    limit = target.resources.get("limits", {}).get("memory")
    if limit is None or plan.installation.one_address:
        return
    needed_mb = load.held_sessions * _SESSION_MB
    if needed_mb * _MEGA > resource_amount(limit):
        yield (
            f"spec.target.managed.resources.limits.memory is {limit}, and {load.held_sessions} held sessions take about"
            f" {needed_mb:,.0f} MB, {_SESSION_MB:g} MB each: the kernel kills sshd's processes where that is full"
        )
