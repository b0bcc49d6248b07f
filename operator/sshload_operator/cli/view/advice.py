"""What a result says to change in sshd_config, and the lines to paste."""

import re
from collections.abc import Iterator
from typing import Final

from sshload_contract.vocabulary import MEASURED_VERDICTS, Outcome, Timing
from sshload_contract.wire.ldap import AccountCache

from sshload_operator.api.server_software import is_openssh
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.results import MaxStartupsAdvice, Results
from sshload_operator.cli.view.page import Facts, Page, Paste
from sshload_operator.state import Phase, Resource

_SETTING: Final = re.compile(r"(\d{1,9}):(\d{1,9}):(\d{1,9})")
_SSSD_WAITS_MS: Final = 5_500
"""Nearly as long as sssd waits for a directory unless it is told otherwise, which no healthy login takes."""
_MS_PER_S: Final = 1_000
_SSSD_WAITED: Final = (
    "Where sssd answers for accounts, look at the directory: sssd waits 6 s for each answer (ldap_search_timeout), and"
    " is then offline for 60 to 90 s (offline_timeout), in which it knows only users of its cache: sssctl domain-status"
    " DOMAIN"
)
_COLD: Final = (
    "sssd's cache was cold. cache: warm measures what logins cost once sssd knows the users (entry_cache_timeout,"
    " memcache_timeout and pam_initgroups_scheme of sssd.conf)"
)
_LIMITS_OF_PAM: Final = {
    Outcome.TOO_MANY_LOGINS: (
        "logins got no session, because their user had too many",
        "raise maxlogins in /etc/security/limits.conf, or log in as more users",
    ),
    Outcome.ACCOUNT_LOCKED: (
        "logins found their account locked",
        (
            "pam_faillock does that after 3 failed logins unless /etc/security/faillock.conf says otherwise (deny), for"
            " 10 minutes (unlock_time); faillock --user NAME --reset unlocks it"
        ),
    ),
    Outcome.SECOND_FACTOR_REUSED: (
        "logins had a code that had been used",
        "a server takes each code once, so one user logs in once per period: log in as more users, or less often",
    ),
    Outcome.PASSWORD_EXPIRED: ("logins were asked for a new password", "chage -M sets how long passwords last"),
    Outcome.ACCOUNT_EXPIRED: ("logins found their account expired", "chage -E sets when accounts expire"),
    Outcome.NO_LOGIN: (
        "logins were ended by the server with a text",
        "look for /etc/nologin, and for what its log says of PAM's account rules",
    ),
}
_OF_SSHD: Final = (Resource.MAX_STARTUPS, Resource.PENALTIES, Resource.MAX_SESSIONS, Resource.LISTEN_BACKLOG)


def pastes(status: TestStatus) -> Iterator[Paste]:
    """Yield lines for the sshd_config of a server that turned connections away; none if it did not.

    There are none for a run that was not measured, whatever its results state.
    """
    results = status.results
    if results is None or status.verdict not in MEASURED_VERDICTS:
        return
    advice = results.max_startups
    if advice is not None and advice.recommended is not None and _turns_away(advice):
        line = f"MaxStartups {advice.recommended}"
        yield Paste("To lose none of these logins, put this into the server's sshd_config:", (line,))
    if _penalised(results):
        yield Paste(
            "The server penalises the addresses that the load comes from. Exempt them in its sshd_config, with the"
            " workers' own network in place of this one:",
            ("PerSourcePenaltyExemptList 10.0.0.0/8",),
        )


def advice_page(name: str, status: TestStatus) -> Page:
    """Return what to change on the server, or that the result asks for no change, and the measurements for that.

    There is no advice before a test has finished, nor for a run whose verdict says that it was not measured.
    """
    if status.phase is not Phase.FINISHED:
        return Page(name, "No advice", f"the test is not finished yet: {status.phase or Phase.PENDING}", None)
    if status.verdict is not None and status.verdict not in MEASURED_VERDICTS:
        why = f" ({status.reason}): {status.message}" if status.reason else ""
        return Page(name, "No advice", f"the verdict is {status.verdict}{why}", None)
    if status.results is None:
        return Page(name, "No advice", "the test has measured nothing", None)
    found = tuple(pastes(status))
    facts = Facts(
        (
            *_max_startups(status.results),
            *_sessions(status.results),
            *_tries(status.results),
            *_of_pam(status.results),
            *_accounts(status.results),
            *_short_of(status),
        )
    )
    if found or facts.rows:
        sentence = "the server's configuration is a limit" if found else "what was seen of the server"
    else:
        sentence = "no measurement shows an option of sshd as the limit"
    return Page(name, "Advice", sentence, None, parts=(*((facts,) if facts.rows else ()), *found))


def _turns_away(advice: MaxStartupsAdvice) -> bool:
    """Tell whether MaxStartups drops connections, and a larger value would drop none."""
    set_, best = (_SETTING.fullmatch(text or "") for text in (advice.setting, advice.recommended))
    if best is None or not (advice.observed_drop_percent or advice.predicted_drop_percent):
        return False
    return set_ is None or int(set_[1]) < int(best[1])


def _penalised(results: Results) -> bool:
    dropped = results.target.dropped if results.target is not None else None
    counted = bool(dropped is not None and dropped.penalty)
    return counted or any(one.outcome == Outcome.PENALISED for one in results.errors)


def _max_startups(results: Results) -> Iterator[tuple[str, str]]:
    if results.max_startups is not None:
        yield "startups", results.max_startups.message


def _sessions(results: Results) -> Iterator[tuple[str, str]]:
    refused = [one for one in results.errors if one.outcome == Outcome.CHANNEL_REFUSED]
    if refused:
        said = f"{sum(one.count for one in refused):,} channels were refused"
        is_sshd = is_openssh(one.server_version for one in results.negotiated)
        yield "sessions", f"{said}: raise MaxSessions (10 unless set) in sshd_config" if is_sshd else said


def _tries(results: Results) -> Iterator[tuple[str, str]]:
    ended = sum(one.count for one in results.errors if one.outcome == Outcome.TOO_MANY_AUTH_FAILURES)
    if ended:
        remedy = "or let clients offer fewer keys (IdentitiesOnly and IdentityFile in ssh_config)"
        said = f"{ended:,} logins ended before the right key's turn"
        yield "keys", f"{said}: raise MaxAuthTries (6 unless set) in sshd_config, {remedy}"


def _of_pam(results: Results) -> Iterator[tuple[str, str]]:
    """Yield which limit of PAM refused logins, and where it is set."""
    for outcome, (said, remedy) in _LIMITS_OF_PAM.items():
        count = sum(one.count for one in results.errors if one.outcome == outcome)
        if count:
            yield "PAM", f"{count:,} {said}: {remedy}"


def _accounts(results: Results) -> Iterator[tuple[str, str]]:
    """Yield what to look at where sssd answers for accounts, if logins waited as they do then.

    The times are those of sssd-ldap(5) and sssd.conf(5).
    """
    directory = results.target.directory if results.target is not None else None
    auth = next((one for one in (*results.steps, *results.parts) if one.step == Timing.AUTH), None)
    longest_ms = None if auth is None else auth.max_ms
    if longest_ms is not None and longest_ms >= _SSSD_WAITS_MS:
        yield "accounts", f"auth took up to {longest_ms / _MS_PER_S:.1f} s. {_SSSD_WAITED}"
    if directory is not None and directory.cache is AccountCache.COLD:
        yield "accounts", _COLD


def _short_of(status: TestStatus) -> Iterator[tuple[str, str]]:
    limit = status.capacity.limited_by if status.capacity is not None else None
    if limit is None:
        return
    for one in sorted(limit.short_of, key=lambda one: one.resource not in _OF_SSHD):
        yield "short of", f"{one.resource}: {one.message}"
    if limit.message:
        yield "limit", limit.message
