"""From the counts of each user of a population to PopulationStats: how many took part, and the worst of them."""

from collections import Counter
from collections.abc import Callable, Iterable
from heapq import nlargest
from typing import Final

from sshload_contract.vocabulary import Window
from sshload_contract.wire.run_summary import PopulationStats, UserStats

from sshload_worker.summary.totals import Totals

WORST_USERS: Final = 5
"""How many users a summary has for each way to be the worst."""


def population_stats(totals: Totals) -> PopulationStats | None:
    """Return what happened to the users, None without a population."""
    if not totals.population:
        return None
    logins: Counter[int] = Counter()
    for (_, place), user in totals.users.items():
        logins[place] += user.logins
    measured = [
        UserStats(place, user.logins, user.failures, user.slowest_us)
        for (window, place), user in totals.users.items()
        if window is Window.MEASURED
    ]
    failed = [user for user in measured if user.failures]
    return PopulationStats(
        size=totals.population,
        took_part=len(logins),
        least_logins=min(logins.values(), default=0) if len(logins) == totals.population else 0,
        most_logins=max(logins.values(), default=0),
        failed=len(failed),
        most_failures=_worst(failed, lambda user: user.failures),
        slowest=_worst((user for user in measured if user.logins), lambda user: user.slowest_us),
    )


def _worst(users: Iterable[UserStats], figure: Callable[[UserStats], int]) -> tuple[UserStats, ...]:
    """Return those with the largest figure, of equal ones the first in the population."""
    return tuple(nlargest(WORST_USERS, users, key=lambda user: (figure(user), -user.place)))
