"""`status.results.maxStartups`: what MaxStartups did to the run, what explains it, and what to set."""

from typing import Any

from sshload_contract.judgement.validity import arrivals_dropped, defects
from sshload_contract.run_summary import RunSummary
from sshload_contract.vocabulary import RunEnd

from sshload_operator.api.spec import ExternalTarget, ManagedTarget
from sshload_operator.decision.max_startups.arrivals import Burst
from sshload_operator.decision.max_startups.measured import Logins, NoFiguresError, measured_logins
from sshload_operator.decision.max_startups.prediction import Prediction, predicted
from sshload_operator.decision.max_startups.recommendation import HEADROOM, needed, recommended
from sshload_operator.decision.max_startups.setting import MaxStartups, setting_of
from sshload_operator.planning.plan import Plan

_MS_PER_S = 1_000


def advice(plan: Plan, summary: RunSummary) -> dict[str, Any] | None:
    """Return the advice, None for a run that cannot be trusted. A figure that cannot be stated is absent."""
    managed = isinstance(plan.spec.target, ManagedTarget)
    if summary.end is not RunEnd.COMPLETED or defects(summary, managed=managed) or arrivals_dropped(summary):
        return None
    setting = None if isinstance(plan.spec.target, ExternalTarget) else setting_of(plan.spec.target.sshd)
    figures: dict[str, Any] = {"setting": None if setting is None else str(setting)}
    try:
        logins = measured_logins(plan, summary)
        figures |= _figures(logins, setting)
    except NoFiguresError as error:
        figures["message"] = f"no advice: {error}"
    return {name: figure for name, figure in figures.items() if figure is not None}


def _figures(logins: tuple[Logins, ...], setting: MaxStartups | None) -> dict[str, Any]:
    attempted = sum(one.attempted for one in logins)
    observed = sum(one.dropped for one in logins) / attempted
    foreseen = None if setting is None else predicted(logins, setting)
    start = needed(logins, setting)
    longest = max(logins, key=lambda one: one.time_s)
    steady = [one.concurrent for one in logins if not isinstance(one.arrivals, Burst)]
    return {
        "authenticationMeanMs": round(longest.time_s * _MS_PER_S, 3),
        "concurrentMean": round(max(steady), 3) if steady else None,
        "predictedDropPercent": None if foreseen is None else _percent(foreseen.dropped),
        "observedDropPercent": _percent(observed),
        "observedIsLowerBound": any(one.unexplained for one in logins),
        "neededStart": start,
        "recommended": None if start is None else str(recommended(start)),
        "headroomPercent": None if start is None else round(HEADROOM * 100),
        "message": " ".join((_what_happened(observed, foreseen, setting), _what_to_set(start, setting))),
    }


def _what_happened(observed: float, foreseen: Prediction | None, setting: MaxStartups | None) -> str:
    seen = f"{_percent(observed):.4g} % of the connections were dropped"
    if setting is None:
        return f"{seen}; which MaxStartups the target has is not known."
    if foreseen is None:
        return f"{seen}; MaxStartups {setting} leaves more in than the server can log in."
    rule = f"MaxStartups {setting} explains {_percent(foreseen.dropped):.4g} %"
    if foreseen.explains(observed):
        return f"{seen}; {rule}."
    if observed > foreseen.highest:
        return (
            f"{seen}, but {rule} at most {_percent(foreseen.highest):.4g} %: something else drops too"
            " (PerSourceMaxStartups, PerSourcePenalties), or the connections reached sshd in clumps."
        )
    return (
        f"{seen}, but {rule} and at least {_percent(foreseen.lowest):.4g} %: sshd had fewer unauthenticated connections"
        " at once than the clients' times say, such as when they wait in its listen queue."
    )


def _what_to_set(start: int | None, setting: MaxStartups | None) -> str:
    if start is None:
        return "No setting loses nothing of this load: the server logs in fewer than come, and the rest would wait."
    advised, room = recommended(start), f"with {HEADROOM:.0%} headroom"
    if setting is not None and setting.start >= advised.start:
        return f"This setting loses nothing of such a load, {room}; {advised} is the smallest that does so."
    return f"{advised} loses nothing of such a load, {room}."


def _percent(share: float) -> float:
    return round(share * 100, 6)
