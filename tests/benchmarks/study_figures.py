"""The figures of the study that are measured over SSH: each a comparison of the case study, and its table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev
from typing import Any, Final

from record import table
from study_runs import Compared, Study, example, spread

_RATE: Final = ("requests per second", "completed per second", "failed, %", "p50, ms", "p90, ms", "p99, ms")
_LIMITS: Final = ((50, 90, 1_000.0), (90, 99, 2_000.0))
"""The claims of figure 1: at this rate, this percentile is below so many milliseconds."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is run. None leaves what the example says."""

    seconds: int
    warm_up_seconds: int
    rates: str | None
    clients: str | None
    rounds: int
    trials: int
    commands: Sequence[str]
    ways: Sequence[str]
    many_users: int
    rate: int


def figure_1(study: Study, scale: Scale) -> Iterator[str]:
    """Yield a table for each way to the server, and the claims."""
    for name, what in (
        ("figure-1-logins", "A login for each request, the study's `MaxStartups` and `MaxSessions`"),
        ("figure-1-pool", "20 open sessions, sshd's defaults"),
        ("figure-1-gateway", "Through the API: HTTP to a gateway, whose pool has sshd's defaults before it"),
    ):
        compared = study.run(_of_rates(example(name), scale, scale.rates, 1))
        yield f"## {what}\n\n{_rates(compared)}"
        yield _claims(compared)


def outlier(study: Study, scale: Scale) -> Iterator[str]:
    """Yield the table of 60 requests per second beside its neighbours, as often as there are rounds."""
    compared = study.run(_of_rates(example("figure-1-outlier"), scale, scale.rates, scale.rounds))
    yield f"## The outlier at 60 requests per second\n\n{_rates(compared)}"
    values = {name: compared.values(name, "total.p99Ms") for name in _variants(compared)}
    if all(values.values()) and "60" in values:
        others = [median(of) for name, of in values.items() if name != "60"]
        is_one = min(values["60"]) > max(others)
        said = "is above" if is_one else "is not above"
        yield (
            f"p99 at 60 {said} that of its neighbours in every round: {spread(values['60'])} ms against medians of "
            f"{' and '.join(f'{one:,.1f}' for one in others)} ms."
        )


def uptime(study: Study, scale: Scale) -> Iterator[str]:
    """Yield the table of many clients at one instant, each with `uptime`."""
    yield _at_one_instant("figure-2-uptime", "`uptime`", study, scale)


def listing(study: Study, scale: Scale) -> Iterator[str]:
    """Yield the table of many clients at one instant, each with `ls` of 10,000 files."""
    yield _at_one_instant("figure-2-ls", "`ls` of 10,000 files", study, scale)


def _at_one_instant(name: str, command: str, study: Study, scale: Scale) -> str:
    document = example(name)
    spec = document["spec"]
    spec["repeats"] = scale.trials
    spec["base"]["load"]["burst"]["interval"] = "2s"
    spec["sweep"]["values"] = scale.clients or spec["sweep"]["values"]
    compared = study.run(document)
    rows = [_trials(f"{command}, {clients} at one instant", compared, clients) for clients in _variants(compared)]
    return f"{table(_TRIALS, rows)}\n\n{compared.machine}"


def within_two_seconds(study: Study, scale: Scale) -> Iterator[str]:
    """Yield the table of the most clients within two seconds, with both commands."""
    document = example("figure-2-spread")
    document["spec"]["repeats"] = scale.trials
    if scale.clients is not None:
        most = max(int(one) for one in scale.clients.split(","))
        document["spec"]["base"]["load"]["arrivals"]["rate"] = most // 2
    rate = document["spec"]["base"]["load"]["arrivals"]["rate"]
    compared = study.run(document)
    rows = [_trials(f"{name}, {2 * rate} within two seconds", compared, name) for name in _variants(compared)]
    yield f"{table(_TRIALS, rows)}\n\n{compared.machine}"


def windows(study: Study, scale: Scale) -> Iterator[str]:
    """Yield the table of libssh2's windows at 20 ms of round trip, by the relay of the worker."""
    document = example("windows-distant")
    spec = document["spec"]
    spec["repeats"] = min(2, scale.rounds)
    spec["base"]["load"]["users"]["stages"][0]["duration"] = f"{scale.seconds}s"
    size = spec["base"]["scenario"]["steps"][0]["scpRead"]["expectSize"]
    megabytes = int(size.removesuffix("Mi")) * 2**20 / 1e6
    compared = study.run(document)
    rows = [
        (
            name,
            compared.shown(name, "scpRead.meanMs", 0),
            spread([megabytes * 1_000 / one for one in compared.values(name, "scpRead.meanMs")]),
            compared.shown(name, "generatorCpuPerIterationMs", 0),
            compared.tests(name),
        )
        for name in _variants(compared)
    ]
    head = ("window", f"{size} by SCP, mean ms", "MB/s", "CPU of the worker, ms", "tests")
    yield f"{table(head, rows)}\n\n{compared.machine}"


_TRIALS: Final = ("command, clients", "p50 of a trial, ms", "mean of a trial, ms: mean, standard deviation",
                  "failed, %", "completed per second", "trials")  # fmt: skip


def _trials(what: str, compared: Compared, variant: str) -> Sequence[str]:
    means = compared.values(variant, "total.meanMs")
    deviation = f"{stdev(means):,.0f}" if len(means) > 1 else "0 (one trial)"
    return (
        what,
        compared.shown(variant, "total.p50Ms", 0),
        f"{fmean(means):,.0f}, {deviation}" if means else "not measured",
        compared.shown(variant, "errorPercent"),
        compared.shown(variant, "completedRate"),
        compared.tests(variant),
    )


def _of_rates(document: dict[str, Any], scale: Scale, rates: str | None, rounds: int) -> dict[str, Any]:
    spec = document["spec"]
    spec["base"]["load"]["arrivals"]["duration"] = f"{scale.seconds}s"
    spec["base"]["warmUp"] = f"{scale.warm_up_seconds}s"
    spec["sweep"]["values"] = rates or spec["sweep"]["values"]
    spec["repeats"] = rounds
    return document


def _rates(compared: Compared) -> str:
    rows = [
        (
            name,
            compared.shown(name, "completedRate"),
            compared.shown(name, "errorPercent"),
            *(compared.shown(name, f"total.p{percentile}Ms") for percentile in (50, 90, 99)),
            compared.tests(name),
        )
        for name in _variants(compared)
    ]
    return f"{table((*_RATE, 'tests'), rows)}\n\n{compared.machine}"


def _claims(compared: Compared) -> str:
    rows = []
    for rate, percentile, limit_ms in _LIMITS:
        found = compared.values(str(rate), f"total.p{percentile}Ms")
        failed = compared.values(str(rate), "errorPercent")
        if found:
            holds = "holds" if max(found) < limit_ms and max(failed) < 100 - percentile else "does not hold"
            claim = f"{percentile} % under {limit_ms / 1_000:g} s at {rate} requests per second"
            rows.append((claim, f"{holds}: p{percentile} {spread(found)} ms, {spread(failed)} % failed"))
    return table(("claimed", "measured"), rows) if rows else "The claims are of rates that were not measured."


def _variants(compared: Compared) -> list[str]:
    return list(dict.fromkeys(one.variant for one in compared.trials))
