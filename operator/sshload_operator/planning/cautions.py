"""What a plan's author should know beforehand, though nothing forbids the run."""

from collections.abc import Iterator

from sshload_contract.client import DEFAULT_TOTP
from sshload_contract.judgement.binomial import tries_needed
from sshload_contract.thresholds import ThresholdKind
from sshload_contract.wire.run_config import SessionReuse

from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.api.sshd import STARTUPS_BEFORE_DROPS
from sshload_operator.planning.estimates import most_attempts, most_samples
from sshload_operator.planning.managed_cautions import managed_cautions
from sshload_operator.planning.plan import Plan
from sshload_operator.planning.search_cautions import search_cautions

# sshd passes SSH_LISTEN_BACKLOG to listen(2), and it is not configurable.
LISTEN_BACKLOG = 128


def cautions(plan: Plan) -> tuple[str, ...]:
    """Return one sentence for each, naming the field; empty if there is nothing to say."""
    return (
        *_of_servers(plan),
        *_burst_above_backlog(plan),
        *_of_managed(plan),
        *_too_few_samples(plan),
        *_costly_library(plan),
        *_codes_used_up(plan),
        *_pool_logs_in_at_once(plan),
        *_deleted_and_applied_anew(plan),
        *search_cautions(plan),
    )


def _of_servers(plan: Plan) -> Iterator[str]:
    for field, server in plan.spec.servers.items():
        yield from server.cautions(field)


def _of_managed(plan: Plan) -> tuple[str, ...]:
    return () if plan.spec.managed is None else managed_cautions(plan, plan.spec.managed)


def _burst_above_backlog(plan: Plan) -> Iterator[str]:
    load = plan.spec.load.largest
    if load.bursts and load.most_connections > LISTEN_BACKLOG and plan.spec.target.access.speaks_ssh:
        yield (
            f"spec.{plan.spec.load.field} opens up to {load.most_connections} connections at once, and sshd's listen"
            f" backlog is {LISTEN_BACKLOG}: if it is full, TCP tries a connection again after 1 s, 3 s and so on, which"
            " adds to its connect latency; or the client counts it as connected although sshd never sees it"
            " (bannerTimeout). No setting of MaxStartups changes that"
        )


def _too_few_samples(plan: Plan) -> Iterator[str]:
    spec = plan.spec
    if spec.load.is_search:
        return
    for threshold in (*spec.thresholds, *spec.relative_thresholds):
        yield from _too_few_attempts(spec, threshold)
        asked = threshold.asked_percentile
        if asked is None:
            continue
        needed, samples = asked.samples_needed, most_samples(spec, asked.step)
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
    if library.traits.cost:
        yield (
            f"spec.client.library is {library}, which takes about {library.traits.cost}: give the workers CPUs"
            " for it, or they are what is measured"
        )


def _codes_used_up(plan: Plan) -> Iterator[str]:
    """Speak of users who log in more often than their codes change: a server takes each code once."""
    spec = plan.spec
    if not spec.client.answers_by_codes or spec.scenario.session_reuse is not SessionReuse.NONE:
        return
    period_s = (spec.client.totp or DEFAULT_TOTP).period_s
    users, logins = _users(spec), spec.load.least.most_begun_within(spec.warm_up_s, period_s)
    if users is None or logins <= users:
        return
    who = "one user" if users == 1 else f"{users} users"
    yield (
        f"spec.{spec.load.field} makes about {logins} logins of {who} within {period_s:g} s, and a code lasts"
        f" {period_s:g} s and is taken once: about {logins - users} of {logins} will be refused"
        " (secondFactorReused); log in as more users, or less often"
    )


def _users(spec: LoadTestSpec) -> int | None:
    """Return how many users log in to the target, None if only a file says so."""
    if spec.managed is not None:
        return 1 if spec.managed.system is None else spec.managed.system.users
    if spec.users is None:
        return 1
    return None if spec.users.names is None else len(spec.users.names)


def _pool_logs_in_at_once(plan: Plan) -> Iterator[str]:
    """Speak of a pool without a warm-up to log in within: its logins may be what MaxStartups is there to drop."""
    target, scenario = plan.spec.managed, plan.spec.scenario
    if (
        scenario.session_reuse is not SessionReuse.POOL
        or plan.spec.warm_up_s > 0
        or not plan.spec.target.access.speaks_ssh
    ):
        return
    start = STARTUPS_BEFORE_DROPS if target is None else target.sshd.startups_before_drops
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
