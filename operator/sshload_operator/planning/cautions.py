"""What a plan's author should know beforehand, though nothing forbids the run."""

from collections.abc import Iterator

from sshload_contract.percentile import percentile_key, samples_needed
from sshload_contract.run_config import ArrivalsLoad, BurstLoad

from sshload_operator.api.spec import ExternalTarget, LatencyThreshold
from sshload_operator.planning.plan import Plan

# sshd passes SSH_LISTEN_BACKLOG to listen(2), and it is not configurable.
LISTEN_BACKLOG = 128


def cautions(plan: Plan) -> tuple[str, ...]:
    """Return one sentence for each, naming the field; empty where there is nothing to say."""
    return (*_burst_above_backlog(plan), *_penalties(plan), *_too_few_samples(plan), *_any_host_key(plan))


def _burst_above_backlog(plan: Plan) -> Iterator[str]:
    load = plan.spec.load
    if isinstance(load, BurstLoad) and load.connections > LISTEN_BACKLOG:
        yield (
            f"spec.load.burst.connections is {load.connections}, and sshd's listen backlog is {LISTEN_BACKLOG}: those"
            " that find it full are tried again by TCP after 1 s, 3 s and so on, which is in their connect latency"
        )


def _penalties(plan: Plan) -> Iterator[str]:
    target = plan.spec.target
    if not isinstance(target, ExternalTarget) and target.sshd.per_source_penalties != "no":
        yield (
            f'spec.target.managed.sshd.perSourcePenalties is "{target.sshd.per_source_penalties}": after a few failed'
            " logins the server refuses the workers' addresses, good logins too"
        )


def _too_few_samples(plan: Plan) -> Iterator[str]:
    load = plan.spec.load
    match load:
        case ArrivalsLoad(stages=stages):
            iterations = sum(stage.rate * stage.duration_s for stage in stages)
        case BurstLoad(connections=connections, repeat=repeat):
            iterations = connections * repeat
        case _:
            return
    for index, threshold in enumerate(plan.spec.thresholds):
        if not isinstance(threshold, LatencyThreshold):
            continue
        needed = samples_needed(threshold.percentile)
        if iterations < needed:
            yield (
                f"spec.thresholds[{index}] asks for p{percentile_key(threshold.percentile)}, which takes {needed}"
                f" samples, and the load makes about {iterations:.0f}: it cannot be judged; make the load longer"
            )


def _any_host_key(plan: Plan) -> Iterator[str]:
    target = plan.spec.target
    if isinstance(target, ExternalTarget) and target.insecure_ignore_host_key:
        yield (
            "spec.target.external.insecureIgnoreHostKey is true: whoever stands between the workers and the server can"
            " read and change everything, the password too"
        )
