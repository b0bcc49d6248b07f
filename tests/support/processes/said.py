"""Messages as people get them: made by the functions that own them, of whole specs, runs and failures.

Run as a program, it writes tests/golden/messages/said.txt.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from plans import EXTERNAL, INSTALLATION, plan, quickstart
from runs import errors, generator, load, logins, retold, summary, target_stats, throttled
from searches import failed, found_118, invalid, passed, search_plan, searched
from specs.tables import BAD, GOOD
from sshload_contract.private_key_text import DamagedKeyError, private_key_text
from sshload_contract.vocabulary import Outcome, RunEnd, SearchEnd
from sshload_contract.wire.report import LoginFailure
from sshload_contract.wire.run_summary import RunSummary
from sshload_operator.api.load_test import parse
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.decision.load_test.verdict import judge
from sshload_operator.decision.max_startups.advice import advice
from sshload_operator.planning.cautions import cautions
from sshload_operator.planning.preflight import allowing, preflight

GOLDEN = Path(__file__).parents[2] / "golden/messages/said.txt"
OWN = quickstart(target={"external": EXTERNAL})
BEHIND = {"target": {"external": EXTERNAL}, "via": [EXTERNAL]}
ENDS = {
    RunEnd.WORKERS_MISSING: "1 of 2 workers connected within 120 s",
    RunEnd.WORKER_LOST: "worker 1 has sent nothing for 30 s",
    RunEnd.TARGET_UNREACHABLE: "quickstart-target:22: Connection refused",
    RunEnd.TARGET_NOT_ALLOWED: "bastion.example.com port 22 resolves to 10.0.0.1, which is not allowed",
    RunEnd.STOPPED: "",
    RunEnd.GENERATOR_FAULT: "the target's private key (id) is empty",
}
POISSON = {"arrivals": {"process": "poisson", "stages": [{"rate": 100, "duration": "30s"}]}}
KEY = b"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n"


def refusals_of_specs() -> Iterator[str]:
    """Yield why each bad spec is refused."""
    for bad in BAD.values():
        try:
            parse(bad.spec)
        except SpecError as error:
            yield from map(str, error.problems)


def before_a_run() -> Iterator[str]:
    """Yield what is said of each good spec before its run."""
    for spec in GOOD.values():
        made = plan(spec, installation=replace(INSTALLATION, external_targets=allowing(parse(spec))))
        refusal = preflight(made)
        yield from cautions(made) if refusal is None else [refusal[1]]
        not_allowed = preflight(plan(spec))
        if not_allowed is not None:
            yield not_allowed[1]


def failed_logins() -> Iterator[str]:
    """Yield what is said of each way in which a login before the load fails."""
    for spec, jump_host in (
        (OWN, 0),
        (BEHIND, 1),
        (quickstart(), 0),
        (GOOD["gateway"], 0),
        (GOOD["managed-gateway"], 0),
    ):
        for outcome in (None, *Outcome):
            failure = LoginFailure(
                0, jump_host, "ssh.example.com", 2222, outcome, "192.0.2.7: what the worker was told"
            )
            run = summary(0, steps=(), load=load(0, duration_s=0.0), end=RunEnd.LOGIN_FAILED, login_failure=failure)
            yield judge(plan(quickstart(**spec) if spec is BEHIND else spec), run).message


def verdicts() -> Iterator[str]:
    """Yield what is said of runs that end in each way."""
    limits = [{"latency": {"step": "total", "percentile": 99, "below": "20ms"}}, {"errorRate": {"below": "1%"}}]
    of_limits = plan(quickstart(thresholds=limits))
    for end, message in ENDS.items():
        yield judge(plan(), summary(end=end, message=message)).message
    runs: Iterable[RunSummary] = (
        summary(),
        summary(300, 300),
        summary(0, 600, errors=errors(600, Outcome.AUTH_REJECTED, "the server refused publickey")),
        summary(10),
        summary(0, steps=(), load=load(0)),
        summary(generator=generator(cpu_share=1.0, loop_lag_p99_us=500_000, loop_lag_max_us=900_000)),
        summary(generator=generator(workers_connected=1)),
        summary(generator=generator(workers_lost=1)),
        summary(generator=generator(reports_missing=3)),
        summary(generator=generator(stolen_share=0.3, run_delay_share=0.4)),
        summary(generator=generator(ports_used=28_000)),
        summary(target_after=target_stats(100)),
    )
    for run in runs:
        yield judge(plan(), run).message
        yield judge(of_limits, run).message


def searches() -> Iterator[str]:
    """Yield what is said of searches."""
    held, broken = passed(500.0), failed(10.0)
    for end in SearchEnd:
        yield judge(search_plan(), searched(held, invalid(600.0), end=end, lower=500.0)).message
        yield judge(search_plan(), searched(broken, end=end, upper=10.0)).message
        yield judge(search_plan(above=(100.0,)), found_118()).message
        yield judge(search_plan(above=(200.0,)), found_118()).message


def max_startups() -> Iterator[str]:
    """Yield the advice on runs of a managed and of an external target: nothing lost, some, too much."""
    managed = plan(quickstart(target={"managed": {"sshd": {"maxStartups": "10:30:100"}}}, load=POISSON))
    burst = plan(quickstart(load={"burst": {"connections": 300, "repeat": 2, "interval": "15s"}}))
    for made in (managed, plan({**OWN, "load": POISSON}), burst):
        for count, dropped, figures, login_s in (
            (600, 0, {"min_us": 20_000, "mean_us": 20_000.0}, 0.002),
            (2_000, 230, {"min_us": 50_000, "mean_us": 50_000.0}, 0.01),
            (9_000, 0, {"min_us": 200_000, "mean_us": 200_000.0}, 0.01),
            (3_000, 750, {"min_us": 15_000, "mean_us": 55_000.0}, 0.013),
            (3_000, 750, {"min_us": 15_000, "mean_us": 55_000.0}, 0.03),
            (1_200, 0, {"min_us": 10_000, "mean_us": 200_000.0}, 0.03),
            (20, 0, {}, 0.01),
        ):
            for limit_cores in (None, 1.0):
                told = advice(made, _logins(count, dropped, figures, login_s, limit_cores))
                if told is not None:
                    yield told.message


def _logins(count: int, dropped: int, figures: dict[str, Any], login_s: float, limit: float | None) -> RunSummary:
    parts = tuple(replace(step, **figures) for step in logins(count, dropped))
    whole = summary(count - dropped, dropped)
    others = tuple(step for step in whole.trial.steps if step.step not in {part.step for part in parts})
    before, after = whole.trial.target_before, whole.trial.target_after
    assert before is not None
    assert after is not None
    used_s = before.cpu_s + login_s * (after.accepted - before.accepted)
    return retold(
        whole,
        steps=(*others, *parts),
        errors=throttled(dropped),
        target_before=replace(before, cpu_limit_cores=limit),
        target_after=replace(after, cpu_s=used_s, cpu_limit_cores=limit),
    )


def damaged_keys() -> Iterator[str]:
    """Yield what is said of texts that are no private key."""
    for text in (b"", b"hello", KEY[:40], KEY.replace(b"AAAA", b""), KEY.replace(b"AAAA", b"AAA"),
                 KEY.replace(b"AAAA", b"A*AA"), KEY.replace(b"BEGIN ", b"BEGIN"),
                 KEY.replace(b"OPENSSH PRIVATE KEY", b"CERTIFICATE")):  # fmt: skip
        try:
            private_key_text(text)
        except DamagedKeyError as error:
            yield str(error)


SECTIONS: dict[str, Callable[[], Iterator[str]]] = {
    "a spec is refused": refusals_of_specs,
    "before a run": before_a_run,
    "a login before the load fails": failed_logins,
    "a run ends": verdicts,
    "a search ends": searches,
    "advice on MaxStartups": max_startups,
    "the private key ...": damaged_keys,
}


def said() -> str:
    """Return all messages, each once, below what they are about."""
    return "\n".join(
        f"# {title}\n" + "".join(f"{_in_a_line(text)}\n" for text in dict.fromkeys(say()))
        for title, say in SECTIONS.items()
    )


def _in_a_line(text: str) -> str:
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


if __name__ == "__main__":
    GOLDEN.write_text(said(), encoding="utf-8")
