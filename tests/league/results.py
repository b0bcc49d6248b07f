"""All that was measured, as it is kept: raw, so that the page can be written again from it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from go_programs import ROOT

_SEARCHED = frozenset({"Invalid", "Passed", "Inconclusive"})  # the last where every rate of the test held
_SUCCEED_FOR_ONE_THAT_FAILS = 20
_OTHERS_PERCENT = 5.0

RESULTS = ROOT / "docs/measurements/league/results.json"


@dataclass(frozen=True)
class Entry:
    """A server as it was measured: what the table of servers says of it, with the version that was there."""

    name: str
    version: str
    build: str
    program: str
    changed: str


@dataclass(frozen=True)
class Record:
    """One run: of which server and measurement, in which round, how it ended, and what it used.

    `at` is its end. `load` is the machine's before it, `stolen_percent` what the machine's host took meanwhile, and
    `others_percent` how busy others kept the server's core. `logins` are all of the run, the one before the load too;
    `done` are iterations that succeeded, each a login where that is all that is measured. `cpu_s` is the server's, from
    before the run to after it. `held_bytes` is how much more memory it had while sessions were held than before.
    Amounts that a run does not tell are None. `message` is the verdict's, or else what most failed iterations ended
    with.
    """

    server: str
    measurement: str
    round: int
    at: str
    load: float
    stolen_percent: float
    others_percent: float
    verdict: str
    reason: str
    message: str
    done: int = 0
    failed: int = 0
    logins: int = 0
    seconds: float = 0.0
    cpu_s: float = 0.0
    held_bytes: int | None = None
    capacity: float | None = None
    capacity_failed_at: float | None = None
    algorithms: str = ""

    @property
    def cannot(self) -> bool:
        """Return whether the server did not do what was asked of it, or not each time."""
        return self.verdict == "Error" or (self.verdict == "Failed" and not self._mostly_succeeds)

    @property
    def is_lower_bound(self) -> bool:
        """Return whether it is a search that found no rate too high, for the load generator or the test had no more."""
        is_search = self.capacity is not None and self.capacity_failed_at is None
        return is_search and self.verdict in _SEARCHED and self.others_percent < _OTHERS_PERCENT

    @property
    def _mostly_succeeds(self) -> bool:
        return self.failed * _SUCCEED_FOR_ONE_THAT_FAILS <= self.done

    @property
    def holds(self) -> bool:
        """Return whether its figures are to be trusted: the product says when they are not.

        How many logins a core takes is known only where the server had it.
        """
        if self.verdict not in {"Passed", "Failed"} or not self._mostly_succeeds:
            return False
        return self.capacity is None or (self.capacity_failed_at is not None and self.others_percent < _OTHERS_PERCENT)


@dataclass
class Results:
    """The records of all rounds, on one machine, with the entries of the servers."""

    machine: dict[str, str] = field(default_factory=dict)
    servers: dict[str, Entry] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)

    def rounds_of(self, server: str, measurement: str) -> int:
        """Return how many rounds of a measurement are done."""
        return len({one.round for one in self.records if (one.server, one.measurement) == (server, measurement)})

    def enter(self, server: Entry) -> None:
        """Name a server as it is from now on. What it did as another version, build or configuration is forgotten."""
        if self.servers.get(server.name, server) != server:
            self.records = [one for one in self.records if one.server != server.name]
        self.servers[server.name] = server

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read what was kept; nothing where nothing was."""
        if not path.exists():
            return cls()
        kept: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        known = {one.name for one in fields(Record)}
        return cls(
            dict(kept["machine"]),
            {one["name"]: Entry(**one) for one in kept["servers"]},
            [Record(**{name: value for name, value in one.items() if name in known}) for one in kept["records"]],
        )

    def write(self, path: Path) -> None:
        """Keep it: each record is a line."""
        path.parent.mkdir(parents=True, exist_ok=True)
        machine = json.dumps(self.machine, indent=1)
        text = f'{{"machine": {machine},\n"servers": [\n{_lines([asdict(one) for one in self.servers.values()])}\n],\n'
        text += f'"records": [\n{_lines([asdict(one) for one in self.records])}\n]}}\n'
        part = path.with_suffix(".part")
        part.write_text(text, encoding="utf-8")
        part.rename(path)


def _lines(values: Sequence[Mapping[str, Any]]) -> str:
    return ",\n".join(json.dumps(one, ensure_ascii=False) for one in values)
