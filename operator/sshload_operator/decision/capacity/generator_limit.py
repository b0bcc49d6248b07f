"""The conclusion on a search that ended at the limit of the generator: how many workers it would need to continue."""

from math import ceil

from sshload_contract.judgement.own_delay import CPU_SHARE_LIMIT, OTHER_MACHINE
from sshload_contract.thresholds import GIVEN_UP_AFTER, unjudged
from sshload_contract.vocabulary import Invalidity, SearchEnd, TrialState, Verdict
from sshload_contract.wire.report import PORTS_SHARE_LIMIT
from sshload_contract.wire.run_summary import Trial

from sshload_operator.decision.capacity.trials import Searched, amount_in_words, those, trials_at
from sshload_operator.decision.judgement import Conclusion
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Reason

AIMED_PART_OF_LIMIT = 0.8
_CPU = (Invalidity.GENERATOR_SATURATED, Invalidity.LATE_ARRIVALS)
_OTHER_REMEDIES = {
    Invalidity.CPU_STOLEN: OTHER_MACHINE,
    Invalidity.ARRIVALS_DROPPED: (
        "Raise maxInFlight, or set a latency threshold that breaks before so many iterations are under way"
    ),
    Invalidity.NO_REQUESTS: "Lengthen the trials, or raise spec.load.capacity's min",
    Invalidity.WORKER_LOST: "See why the workers' pods ended, and give them more memory",
}


def by_generator_limit(plan: Plan, found: Searched) -> Conclusion | None:
    """Return that the search ended because some amount repeatedly could not be judged, None if it did not."""
    if found.end is not SearchEnd.GENERATOR_LIMIT:
        return None
    beyond = _lowest_given_up(found)
    if beyond is None:
        message = (
            "the search ended because of trials that cannot be judged, but it has no such trial. Run the test again"
        )
        return Verdict.INVALID, Reason.COUNTS_DISAGREE, message
    load = found.load
    at_amount = trials_at(found, beyond.amount)
    invalid = those(at_amount, TrialState.INVALID)
    message = (
        f"trials at {amount_in_words(beyond.amount, load)} cannot be judged ({len(invalid)} of {len(at_amount)}). "
        f"{remedy(plan, found, invalid[-1])}. The last one says: {invalid[-1].message}"
    )
    if found.lower is not None:
        message = (
            f"the capacity is {amount_in_words(found.lower, load)} or more: every threshold holds there, but {message}"
        )
    return Verdict.INVALID, _reason(invalid[-1]), message


def remedy(plan: Plan, found: Searched, invalid: Trial) -> str:
    """Return what to change so that such trials can be judged."""
    if invalid.invalidity in _CPU:
        return _more_cores(plan, found, invalid)
    if invalid.invalidity is Invalidity.SOURCE_PORTS_USED_UP:
        return _more_pods(plan, found, invalid)
    return _OTHER_REMEDIES.get(
        invalid.invalidity or Invalidity.GENERATOR_FAULT, "See the logs of the workers and of the target"
    )


def _lowest_given_up(found: Searched) -> Trial | None:
    """Return an invalid trial of the lowest amount that the search gave up: one with too many unjudged trials.

    If there is no such amount, which no search should report, it is the last invalid trial of all.
    """
    invalid = those(found.trials, TrialState.INVALID)
    given_up = (trial for trial in invalid if _unjudged(found, trial.amount) >= GIVEN_UP_AFTER)
    return min(given_up, key=lambda trial: trial.amount, default=invalid[-1] if invalid else None)


def _unjudged(found: Searched, amount: float) -> float:
    tried = trials_at(found, amount)
    invalid = those(tried, TrialState.INVALID)
    stolen = sum(trial.invalidity is Invalidity.CPU_STOLEN for trial in invalid)
    return unjudged(len(invalid) - stolen, stolen, len(tried) - len(invalid))


def _reason(trial: Trial) -> Reason:
    return Reason(trial.invalidity or Invalidity.GENERATOR_FAULT)


def _sound_below(found: Searched, amount: float) -> Trial | None:
    """Return the judged trial of the highest amount below; of several the one that cost the generator most."""
    sound = (trial for trial in found.trials if trial.amount < amount and trial.state is not TrialState.INVALID)
    return max(sound, key=lambda trial: (trial.amount, trial.generator.cpu_share or 0.0), default=None)


def _more_cores(plan: Plan, found: Searched, invalid: Trial) -> str:
    """Extrapolate the core share of the busiest worker from the highest amount that could be judged."""
    sound = _sound_below(found, invalid.amount)
    amount, cpu_share = amount_in_words(invalid.amount, found.load), (sound or invalid).generator.cpu_share
    if cpu_share is None:
        return f"Trials of less than a second do not show how many workers {amount} would need: lengthen the load"
    wanted = _per_amount(sound, invalid, cpu_share) * plan.workers / (CPU_SHARE_LIMIT * AIMED_PART_OF_LIMIT)
    if sound is None:
        least = max(ceil(wanted * invalid.amount), plan.workers + 1)
        return (
            f"{amount} would need {_workers(plan, least)} or more. This is a rough estimate, because no trial could"
            " be judged"
        )
    used = f"at {amount_in_words(sound.amount, found.load)} the busiest of {plan.workers} used "
    used += f"{cpu_share:.0%} of the CPU that it may use"
    needed = ceil(wanted * invalid.amount)
    if needed <= plan.workers:
        delay = invalid.generator.run_delay_share
        told = "" if delay is None else f" (ready to run and not run for {delay:.0%} of the time)"
        return (
            f"The number of workers should be enough: {used}. They lacked CPU time that others took{told}. Give each"
            f" a whole core, on nodes that they do not share with the target"
        )
    most = found.load.most
    further = f", {amount_in_words(most, found.load)} about {ceil(wanted * most)}" if most > invalid.amount else ""
    return f"{amount} would need about {_workers(plan, needed)}{further}: {used}"


def _workers(plan: Plan, count: int) -> str:
    """Return a number of workers in words, with the replicas needed for them."""
    each = f" ({ceil(count / plan.processes_per_pod)} pods of {plan.processes_per_pod})"
    return f"{count} workers with a core each{each if plan.processes_per_pod > 1 else ' (spec.workers.replicas)'}"


def _more_pods(plan: Plan, found: Searched, invalid: Trial) -> str:
    """Extrapolate the ports of the busiest address from the highest amount that could be judged."""
    if plan.installation.one_address:
        return "All workers share this machine's address and its ports: run the test in a cluster"
    sound = _sound_below(found, invalid.amount)
    seen = (sound or invalid).generator
    wanted = _per_amount(sound, invalid, seen.ports_used) * invalid.amount * plan.spec.workers.replicas
    pods = ceil(wanted / (PORTS_SHARE_LIMIT * AIMED_PART_OF_LIMIT * max(1, seen.ports_available)))
    amount = amount_in_words(invalid.amount, found.load)
    return (
        f"{amount} would need about {max(pods, plan.spec.workers.replicas + 1)} pods (spec.workers.replicas): each"
        f" has its own address with {seen.ports_available} source ports"
    )


def _per_amount(sound: Trial | None, invalid: Trial, figure: float) -> float:
    return figure / (sound or invalid).amount
