"""`status.results.maxStartups`: the effect of MaxStartups on the run, its explanation, and the recommended setting.

The recommended setting is the smallest that drops nothing at this load, with headroom.
"""

from dataclasses import dataclass
from math import ceil, inf

from sshload_contract.digits import to_digits
from sshload_contract.judgement.validity import arrivals_dropped, defects, figures_spoiled
from sshload_contract.vocabulary import Outcome, RunEnd, Timing, Window
from sshload_contract.wire.run_summary import RunSummary

from sshload_operator.api.server_software import is_openssh
from sshload_operator.api.status.figures import percent
from sshload_operator.api.status.results import MaxStartupsAdvice
from sshload_operator.decision.max_startups.arrivals import Burst, LoginService, Steady
from sshload_operator.decision.max_startups.fit import service_of
from sshload_operator.decision.max_startups.measured import Logins, NoFiguresError, measured_logins
from sshload_operator.decision.max_startups.occupancy import most_found, occupancy
from sshload_operator.decision.max_startups.prediction import Prediction, predicted
from sshload_operator.decision.max_startups.setting import (
    DEFAULT,
    MaxStartups,
    setting_of,
)
from sshload_operator.planning.cautions import LISTEN_BACKLOG
from sshload_operator.planning.plan import Plan

HEADROOM = 0.25
LOST_SHARE = 1e-6
"""`start` is so high that at most this share of connections finds so many unauthenticated ones."""
_NEAR_THE_LIMIT = 0.9


@dataclass(frozen=True, slots=True)
class Need:
    """The least `start` that drops nothing, without headroom; None if no setting does that.

    `per_s` connections come per second, None for bursts, and for users, because they wait. The server logs in at most
    `most_per_s`, None if no number of logins slows it down. `start_if_waiting` is the `start` that is needed if logins
    wait for something other than each other, None if the target's CPU shows whether they do.
    """

    start: int | None
    per_s: float | None = None
    most_per_s: float | None = None
    start_if_waiting: int | None = None

    @property
    def use(self) -> float:
        """The load as a share of the logins that the server can process, 0 if that is not known."""
        return 0.0 if self.per_s is None or self.most_per_s is None else self.per_s / self.most_per_s


def needed(logins: tuple[Logins, ...], setting: MaxStartups | None) -> Need:
    """Return the need of the most demanding of these logins; `setting` is that of the run, None if it is not known."""
    return max((_needed(one, setting) for one in logins), key=_demand)


def recommended(start: int) -> MaxStartups:
    """Return the setting for the needed `start`: with headroom, and otherwise sshd's default.

    `full` is only raised if `start` is above it, because clients that connect and do not log in can occupy so many
    processes.
    """
    raised = max(DEFAULT.start, ceil(start * (1 + HEADROOM)))
    return MaxStartups(raised, DEFAULT.rate, max(DEFAULT.full, raised))


def _demand(need: Need) -> float:
    return inf if need.start is None else need.start


def _needed(logins: Logins, setting: MaxStartups | None) -> Need:
    match logins.arrivals:
        case Burst(connections=connections):
            return Need(connections)
        case arrivals:
            kept = arrivals if setting is not None else arrivals.without_drops(1 - logins.drop_share)
    service, waiting = service_of(logins, kept, setting), LoginService(logins.time_s, inf)
    if service == waiting:
        return Need(_start(arrivals, waiting), arrivals.per_s)
    if_waiting = None if logins.cpu_is_limited else _start(arrivals, waiting)
    return Need(_start(arrivals, service), arrivals.per_s, service.most_per_s, if_waiting)


def _start(arrivals: Steady, service: LoginService) -> int | None:
    found = occupancy(arrivals, service, None)
    return None if found is None else most_found(found, LOST_SHARE)


def advice(plan: Plan, summary: RunSummary) -> MaxStartupsAdvice | None:
    """Return the advice.

    None for a run that cannot be trusted, or that ended early without a known drop, and for servers that have no
    MaxStartups, because they are not OpenSSH's.
    """
    managed = plan.spec.managed
    if (
        not plan.spec.target.access.speaks_ssh  # what else logs in is not measured
        or not is_openssh(one.negotiated.server_version for one in summary.trial.negotiated)
        or summary.end is not RunEnd.COMPLETED
        or defects(summary.trial, managed=managed is not None)
        or arrivals_dropped(summary.trial)
    ):
        return None
    if figures_spoiled(summary.trial, plan.spec.scenario.slept_s):
        return None
    setting = None if managed is None else setting_of(managed.sshd)
    if summary.early_end is not None and summary.early_end.threshold:
        return _of_early_end(summary, setting)
    try:
        return _of_logins(measured_logins(plan, summary.trial), setting)
    except NoFiguresError as error:
        return MaxStartupsAdvice(setting=_setting_text(setting), message=f"no advice: {error}")


def _of_early_end(summary: RunSummary, setting: MaxStartups | None) -> MaxStartupsAdvice | None:
    """Return that there is no advice although sshd dropped connections, None if no drop is known."""
    drop = (Timing.BANNER, Outcome.THROTTLED, Window.MEASURED)
    throttled = sum(error.count for error in summary.trial.errors if (error.step, error.outcome, error.window) == drop)
    if throttled == 0:
        return None
    message = (
        f"no advice: MaxStartups or PerSourceMaxStartups dropped {throttled} connections, and the load ended early. Run"
        " the test without abortOnFail to learn which MaxStartups drops nothing at this load"
    )
    return MaxStartupsAdvice(setting=_setting_text(setting), message=message)


def _setting_text(setting: MaxStartups | None) -> str | None:
    return None if setting is None else str(setting)


def _of_logins(logins: tuple[Logins, ...], setting: MaxStartups | None) -> MaxStartupsAdvice:
    attempted = sum(one.attempted for one in logins)
    observed = sum(one.dropped for one in logins) / attempted
    overflowed = any(one.overflowed for one in logins)
    foreseen = None if setting is None or overflowed else predicted(logins, setting)
    need = needed(logins, setting)
    if overflowed:
        message = _overflow(observed, need)
    else:
        message = f"{_drops(observed, foreseen, setting)} {_what_to_set(need, setting)}"
    return MaxStartupsAdvice(
        setting=_setting_text(setting),
        predicted_drop_percent=None if foreseen is None else percent(foreseen.dropped),
        observed_drop_percent=percent(observed),
        observed_is_lower_bound=any(one.unexplained for one in logins) or None,
        recommended=None if need.start is None else str(recommended(need.start)),
        message=message,
    )


def _overflow(observed: float, need: Need) -> str:
    enough = f" {recommended(need.start)} is enough for all of it." if need.start is not None else ""
    return (
        f"{percent(observed):.4g} % of the connections that reached sshd were dropped. Its listen queue of"
        f" {LISTEN_BACKLOG} overflowed, so that the rest of the burst came a second later, or never. How many of them"
        f" MaxStartups dropped is not known: spread the burst.{enough}"
    )


def _drops(observed: float, foreseen: Prediction | None, setting: MaxStartups | None) -> str:
    seen = f"{percent(observed):.4g} % of the connections were dropped"
    if setting is None:
        return f"{seen}; the MaxStartups of the target is not known."
    if foreseen is None:
        return f"{seen}; MaxStartups {setting} lets in more connections than the server can log in."
    rule = f"MaxStartups {setting} predicts {round(percent(foreseen.dropped), 3):.4g} %"
    if foreseen.explains(observed):
        lowest, highest = percent(max(0.0, foreseen.lowest)), percent(min(1.0, foreseen.highest))
        return f"{seen}; {rule} ({to_digits(lowest, 2)} to {to_digits(highest, 2)} %)."
    if observed > foreseen.highest:
        return (
            f"{seen}, but {rule}, {percent(foreseen.highest):.4g} % at most: something else drops too"
            " (PerSourceMaxStartups, PerSourcePenalties), or the connections reached sshd in clumps."
        )
    return (
        f"{seen}, but {rule} and at least {percent(foreseen.lowest):.4g} %: sshd had fewer unauthenticated"
        f" connections at once than the clients' times suggest, for example because they waited in its listen queue."
    )


def _what_to_set(need: Need, setting: MaxStartups | None) -> str:
    per_s, most_per_s = need.per_s, need.most_per_s
    rates = (
        f": {to_digits(per_s, 3)} connections come per second, and it logs in at most {to_digits(most_per_s, 3)}"
        if per_s is not None and most_per_s is not None
        else ""
    )
    if need.start is None and need.start_if_waiting is not None:
        return (
            f"If logins slow each other down, the server cannot log in such a load, and every setting drops some of"
            f" it{rates}. If they wait for something else (PAM, LDAP, distance), {recommended(need.start_if_waiting)}"
            f" drops nothing of this load. A run at half the rate shows which: logins that wait take the same time"
            f" there."
        )
    if need.start is None:
        return f"Every setting drops some of such a load, which is more than the server can log in{rates}."
    advised, room = recommended(need.start), f"with {HEADROOM:.0%} headroom"
    peak = f"At this load and these login times, at most {need.start} connections log in at once"
    if setting is not None and setting.start >= advised.start:
        said = f"{peak}: this setting drops none of them, {room}, and {advised} is the smallest such setting."
    else:
        said = f"{peak}: {advised} drops none of them, {room}."
    if need.use < _NEAR_THE_LIMIT:
        return said
    if need.start_if_waiting is not None:
        return f"{said} If logins slow each other down, the server is near what it can log in{rates}."
    return f"{said} The server is near what it can log in{rates}, and a little more load needs a far higher setting."
