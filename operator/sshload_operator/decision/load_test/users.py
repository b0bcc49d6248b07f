"""What a run tells of the users of a population."""

from collections.abc import Callable

from sshload_contract.population import MOST_USERS, user_name
from sshload_contract.wire.run_summary import PopulationStats, UserStats

from sshload_operator.api.status.figures import milliseconds
from sshload_operator.api.status.results import MOST_WORST_USERS, UserResult, UsersResult
from sshload_operator.planning.plan import Plan


def users_result(plan: Plan, found: PopulationStats | None) -> UsersResult | None:
    """Return `results.users`, None without a population. Names from a Secret are not known here."""
    if found is None:
        return None
    name = _names(plan)
    return UsersResult(
        population=found.size,
        took_part=found.took_part,
        least_logins=found.least_logins,
        most_logins=found.most_logins,
        failed=found.failed,
        most_failures=tuple(_user(one, name) for one in found.most_failures[:MOST_WORST_USERS]),
        slowest=tuple(_user(one, name) for one in found.slowest[:MOST_WORST_USERS]),
    )


def _names(plan: Plan) -> Callable[[int], str | None]:
    """Return the function from a place in the population to the user's name; it returns None if that is not known."""
    users = plan.spec.users
    if plan.spec.managed is not None:
        return lambda place: user_name(place + 1)
    if users is not None and users.names is not None:
        return users.names.name
    return lambda _: None


def _user(found: UserStats, name: Callable[[int], str | None]) -> UserResult:
    return UserResult(
        place=found.place + 1,
        name=name(found.place) if found.place < MOST_USERS else None,
        logins=found.logins,
        failures=found.failures,
        slowest_login_ms=milliseconds(found.slowest_us) if found.logins else None,
    )
