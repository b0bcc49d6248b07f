"""Print schedules, time zones and instants to ask robfig/cron of, as JSON: half of them about nights of clock changes.

python questions.py | (cd robfig && go run .) > answers.json
"""

import json
import random
import sys
from datetime import UTC, datetime, timedelta

COUNT = 450
SEED = 20261121
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
# Days on which clocks change, by zone.
CHANGES = {
    "UTC": ("2026-01-01",),
    "Europe/Berlin": ("2026-03-29", "2026-10-25"),
    "America/New_York": ("2026-03-08", "2026-11-01"),
    "Africa/Casablanca": ("2024-03-10", "2024-04-14"),
    "America/Sao_Paulo": ("2017-10-15", "2018-02-18"),
    "America/Havana": ("2024-03-10", "2024-11-03"),
    "Asia/Kolkata": ("2026-05-05",),
    "Asia/Tehran": ("2021-03-22", "2021-09-22"),
    "Australia/Lord_Howe": ("2025-10-05", "2025-04-06"),
    "Asia/Beirut": ("2024-03-31", "2024-10-27"),
    "America/St_Johns": ("2011-03-13", "2011-11-06"),
    "Pacific/Apia": ("2011-12-30",),
}
NEVER = ("0 0 30 2 *", "0 0 31 feb,APR,6 ?", "0 0 31 4,6,9,11 */1", "0 0 30,31 2 *")
MACROS = ("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually")


class Asker:
    """Draws schedules, good ones and bad ones, from one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - the same questions each time

    def question(self) -> dict[str, str]:
        """Return one question."""
        zone = self._random.choice(list(CHANGES))
        day = datetime.fromisoformat(self._random.choice(CHANGES[zone])).replace(tzinfo=UTC)
        after = day + timedelta(seconds=self._random.randint(-2 * 86400, 86400))
        if self._random.random() < 0.25:
            after += timedelta(days=self._random.randint(-300, 300))
        return {"schedule": self._schedule(), "zone": zone, "after": f"{after:%Y-%m-%dT%H:%M:%SZ}"}

    def _schedule(self) -> str:
        style = self._random.random()
        if style < 0.05:
            return self._random.choice(MACROS)
        times = f"{self._field(0, 59, star=0.1)} {self._field(0, 23, star=0.3)}"
        if style < 0.5:
            return f"{times} * * *"
        days, months = self._field(1, 31), self._field(1, 12, MONTHS, star=0.6)
        return f"{times} {days} {months} {self._field(0, 6, WEEKDAYS, star=0.5)}"

    def _field(self, least: int, most: int, names: list[str] | None = None, star: float = 0.4) -> str:
        if self._random.random() < star:
            return "*" if self._random.random() < 0.9 else "?"
        return ",".join(self._term(least, most, names) for _ in range(self._random.choice((1, 1, 1, 2, 3))))

    def _term(self, least: int, most: int, names: list[str] | None) -> str:
        kind, pick = self._random.random(), self._random.randint
        if names and kind < 0.2:
            return self._random.choice((str.upper, str.lower, str.title))(self._random.choice(names))
        if kind < 0.35:
            return str(pick(least, most))
        if kind < 0.55:
            first, last = pick(least, most), pick(least, most)
            if self._random.random() < 0.9:
                first, last = min(first, last), max(first, last)
            step = f"/{pick(1, 7)}" if self._random.random() < 0.3 else ""
            named = bool(names) and self._random.random() < 0.4
            return (f"{names[first - least]}-{names[last - least]}" if named and names else f"{first}-{last}") + step
        if kind < 0.75:
            return f"{self._random.choice('**?')}/{self._random.choice((1, 2, 3, 5, 7, 15, 20))}"
        if kind < 0.85:
            return f"{pick(least, most)}/{pick(1, 9)}"
        return self._random.choice("***?") if kind < 0.97 else str(most + 1)


if __name__ == "__main__":
    asker = Asker(SEED)
    questions = [asker.question() for _ in range(COUNT)]
    questions += [{"schedule": schedule, "zone": "UTC", "after": "2026-01-01T00:00:00Z"} for schedule in NEVER]
    json.dump(questions, sys.stdout)
