"""What a run tells of the users of a population."""

from sshload_contract.users import NumberedUsers
from sshload_contract.wire.run_summary import PopulationStats, UserStats

from sshload_operator.api.status.figures import milliseconds
from sshload_operator.api.status.results import MOST_WORST_USERS, UserResult, UsersResult
from sshload_operator.planning.plan import Plan


def users_result(plan: Plan, found: PopulationStats | None) -> UsersResult | None:
    """Return `results.users`, None without a population. Names from a Secret are not known here."""
    if found is None or plan.spec.users is None:
        return None
    names = plan.spec.users.names
    return UsersResult(
        population=found.size,
        took_part=found.took_part,
        least_logins=found.least_logins,
        most_logins=found.most_logins,
        failed=found.failed,
        most_failures=tuple(_user(one, names) for one in found.most_failures[:MOST_WORST_USERS]),
        slowest=tuple(_user(one, names) for one in found.slowest[:MOST_WORST_USERS]),
    )


def _user(found: UserStats, names: NumberedUsers | None) -> UserResult:
    is_known = names is not None and found.place < len(names)
    return UserResult(
        place=found.place + 1,
        name=names.name(found.place) if names is not None and is_known else None,
        logins=found.logins,
        failures=found.failures,
        slowest_login_ms=milliseconds(found.slowest_us) if found.logins else None,
    )
