"""A status has the users of a population by their place, and by name only where the spec or the run has the names."""

from dataclasses import replace
from typing import Any

import pytest
from crd_schema import problems, status_schema
from plans import plan, quickstart
from runs import retold, summary
from specs.external import USERS_OF_A_SECRET, USERS_WITH_NUMBERS
from sshload_contract.vocabulary import Outcome, Verdict, Window
from sshload_contract.wire.report import ErrorCount
from sshload_contract.wire.run_summary import EarlyEnd, PopulationStats, UserStats
from sshload_operator.api.status.head import written
from sshload_operator.cli.view.measured import measured_parts
from sshload_operator.cli.view.page import Facts
from sshload_operator.decision.load_test.results import results_status
from sshload_operator.planning.cautions import cautions

ACCOUNTS = quickstart(target={"managed": {"system": {"users": 5_000}}})
FOUND = PopulationStats(
    size=4_994,
    took_part=4_000,
    least_logins=0,
    most_logins=3,
    failed=1,
    most_failures=(UserStats(2, 0, 1, 0),),
    slowest=(UserStats(16, 2, 0, 812_345), UserStats(2**40, 1, 0, 5_000)),
)


def results(spec: dict[str, Any], **of_trial: Any) -> Any:
    return results_status(plan(spec), retold(summary(600), **of_trial), Verdict.PASSED)


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        pytest.param(USERS_OF_A_SECRET, [None, None, None], id="of a Secret"),
        pytest.param(USERS_WITH_NUMBERS, ["user00009", "user00023", None], id="with numbers"),
        pytest.param(ACCOUNTS, ["user00003", "user00017", None], id="made by the run"),
    ],
)
def test_the_worst_users_are_told_by_place_and_by_names_that_are_no_secret(
    spec: dict[str, Any], names: list[str | None]
) -> None:
    users: dict[str, Any] = dict(written(results(spec, users=FOUND))["users"])
    told = [*users["mostFailures"], *users["slowest"]]
    assert [one["place"] for one in told] == [3, 17, 2**40 + 1]
    assert [one.get("name") for one in told] == names
    assert {name: users[name] for name in ("population", "tookPart", "leastLogins", "mostLogins", "failed")} == {
        "population": 4_994,
        "tookPart": 4_000,
        "leastLogins": 0,
        "mostLogins": 3,
        "failed": 1,
    }
    assert "slowestLoginMs" not in users["mostFailures"][0], "nobody has measured it"
    assert users["slowest"][0]["slowestLoginMs"] == 812.345
    assert list(problems(users, status_schema()["properties"]["results"]["properties"]["users"], "users")) == []


def test_a_run_of_one_user_has_no_users() -> None:
    assert results(quickstart()).users is None


def facts(spec: dict[str, Any], **of_trial: Any) -> dict[str, str]:
    parts = measured_parts(results(spec, **of_trial), (), frozenset(), totals_said=True, verbose=False)
    return {name: text for part in parts if isinstance(part, Facts) for name, text in part.rows if name}


def test_the_terminal_has_them_in_three_lines() -> None:
    told = facts(USERS_OF_A_SECRET, users=FOUND)
    assert told["users"] == "4,000 of 4,994 took part, with 0 to 3 logins each; 1 of them had failures"
    assert told["most failures"] == "no. 3: 1, 0 logins"
    assert told["slowest login"].startswith("no. 17: 812 ms; ")
    assert facts(ACCOUNTS, users=FOUND)["most failures"] == "user00003: 1, 0 logins"
    each_once = replace(FOUND, took_part=4_994, least_logins=1, most_logins=1, failed=0, most_failures=())
    told = facts(ACCOUNTS, users=each_once)
    assert told["users"] == "4,994 of 4,994 took part, with 1 login each"
    assert "most failures" not in told


def test_a_load_that_ended_with_its_users_says_so_and_names_no_threshold() -> None:
    found = replace(summary(600), early_end=EarlyEnd(12.0, ""))
    told = results_status(plan(ACCOUNTS), found, Verdict.PASSED)
    assert written(told)["endedEarly"] == {"afterSeconds": 12.0}


def refused(message: str, outcome: Outcome = Outcome.OUTPUT_MISMATCH, count: int = 7) -> ErrorCount:
    return ErrorCount("shell", outcome, Window.MEASURED, count, message)


TOO_MANY = "the output ended before `ready` came: its last words are \"There were too many logins for '{user}'.\""


@pytest.mark.parametrize(
    ("error", "users", "says"),
    [
        pytest.param(refused(TOO_MANY), None, "bound the load: 7 sessions", id="by the words of the server"),
        pytest.param(refused(TOO_MANY), FOUND, "bound the load: 7 sessions", id="of a population too"),
        pytest.param(
            refused("exit code 254", Outcome.EXIT_CODE),
            None,
            "may have bound the load: 7 commands",
            id="by sshd's code",
        ),
        pytest.param(refused("exit code 255", Outcome.EXIT_CODE), None, "", id="not by another code"),
        pytest.param(refused("the output ended before `ready` came"), None, "", id="not without words"),
        pytest.param(replace(refused(TOO_MANY), window=Window.WARM_UP), None, "", id="not in the warm-up"),
    ],
)
def test_a_limit_of_one_user_that_bound_the_load_is_told(
    error: ErrorCount, users: PopulationStats | None, says: str
) -> None:
    scope = results(ACCOUNTS, errors=(error,), users=users).scope
    told = [one for one in scope if "limit for each user" in one]
    assert len(told) == bool(says)
    for one in told:
        assert says in one
        assert ("client.users spreads them" in one) == (users is None)


def test_a_load_of_one_user_beyond_what_pam_allows_a_user_is_a_caution() -> None:
    def said(**system: int) -> bool:
        spec = quickstart(
            target={"managed": {"system": system}}, load={"burst": {"connections": 20}}, warmUp="0s", thresholds=[]
        )
        return any("maxLogins allows" in one for one in cautions(plan(spec)))

    assert said(maxLogins=19)
    assert [said(maxLogins=20), said(maxLogins=5, users=40), said()] == [False, False, False]
