"""Searches for the capacity whose least trial cannot hold, however good the server is.

A trial whose thresholds cannot be judged has failed. Would that be so of the least one, the search would say of any
server that even the least is too much.
"""

from collections.abc import Iterator

from sshload_contract.judgement.words import in_words
from sshload_contract.load import HoldLoad
from sshload_contract.percentile import samples_needed
from sshload_contract.thresholds import LatencyThreshold, ThroughputThreshold

from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.planning.samples import most_samples


def impossible_search(spec: LoadTestSpec) -> str:
    """Return why the least trial cannot hold, and what to change; empty where it can, or nothing is searched."""
    if spec.capacity is None:
        return ""
    problems = (*_no_probe(spec), *_too_few_samples(spec), *_too_much_throughput(spec))
    return next(iter(problems), "")


def _no_probe(spec: LoadTestSpec) -> Iterator[str]:
    probes = spec.load.iterations if isinstance(spec.load, HoldLoad) else None
    if probes is not None and probes < 1:
        yield f"a trial of {_least(spec)} begins not one probe: make its duration longer, or raise {_raise(spec)}"


def _too_few_samples(spec: LoadTestSpec) -> Iterator[str]:
    for threshold in spec.thresholds:
        if not isinstance(threshold, LatencyThreshold):
            continue
        needed, samples = samples_needed(threshold.percentile), most_samples(spec, spec.load, threshold.step)
        if samples is None or samples >= needed:
            continue
        if samples == 0:
            yield f"spec.thresholds: {in_words(threshold)} cannot be judged, for a trial has no sample of it"
        else:
            yield (
                f"spec.thresholds: {in_words(threshold)} takes {needed} samples, and a trial of {_least(spec)} makes"
                f" {samples:.0f} at most: make its duration longer, raise {_raise(spec)}, or ask for a lower percentile"
            )


def _too_much_throughput(spec: LoadTestSpec) -> Iterator[str]:
    offered = spec.load.offered_rate
    for threshold in spec.thresholds:
        if isinstance(threshold, ThroughputThreshold) and offered is not None and threshold.above >= offered:
            yield (
                f"spec.thresholds: {in_words(threshold)} cannot hold in a trial of {_least(spec)}, which begins"
                f" {offered:.4g} iterations per second: lower it, or raise {_raise(spec)}"
            )


def _least(spec: LoadTestSpec) -> str:
    capacity = spec.capacity
    return f"spec.load.capacity.{spec.load.kind}.min" + (f" ({capacity.least:g})" if capacity is not None else "")


def _raise(spec: LoadTestSpec) -> str:
    return "probeRate" if isinstance(spec.load, HoldLoad) else "min"
