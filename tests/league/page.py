"""The page of the league, from the results alone: the same results make the same page."""

import re
from collections.abc import Iterable, Sequence
from statistics import median

import measurements as what
from figures import Refusal, Value, left_out, value_of
from go_programs import ROOT
from measurements import MEASUREMENTS, Figure, Measurement
from results import Entry, Results
from surprises import surprises

PAGE = ROOT / "docs/measurements/league.md"

_NOT_BEGUN = re.compile(r"the load was not begun: .* failed \((.*)\) when worker 0 logged in before the load\.")
_BUSY_PERCENT = 5.0
_BUSY = "**So the figures are preliminary**: a shared core has colder caches, and each operation costs more."
_LEAST_IS_BEST = {Figure.LOGIN_CPU, Figure.STEP_CPU, Figure.HELD_BYTES}
_NONE = "-"
_HEAD = """# The league: how much SSH a core takes

How many logins per second does one core of an SSH server take? How much memory is a session, and how fast is SFTP? This
page has figures of {servers} servers, measured on one machine, in turn, by the tests that stand beside it."""

_HOW = """## What is measured, and how

- **One core.** The server and all it starts run on one core (`taskset`), the load generator on the other. Both talk
  over loopback.
- **CPU** is that of the server's cgroup, from rest before the run to rest after it: processes that have ended count.
  What a login costs is the CPU of a run of nothing but logins, divided by them. What a command, a list, a clone or a
  file costs is the CPU of a run less that of its logins, divided by how many there were. Before its load a run makes
  two connections: a login, which counts as one, and one that asks for the algorithms, whose CPU is in the figures.
- **Logins per second** are what [a search for the capacity](../how-to/capacity.md) found: the highest rate of
  independent arrivals that was tried at which half of the logins take less than 250 ms and less than 1 % fail. The
  next higher rate that was tried, at most 10 % higher, broke one of the two. "Or more": the load generator could make
  no more, with the one core that it has, or the test asks for no more.
- **Memory** is by how much the cgroup grew at most while 100 sessions logged in and were held, by 100: with the
  kernel's part (page tables, stacks, sockets), without files. Of a server with a heap of its own (Java, Python, Go) it
  is no more than a hint: what the heap had free before is not seen, and what logins leave in it counts until it is
  collected.
- **Algorithms** are the same at each server, except where a table says so: curve25519-sha256, a host key of Ed25519,
  and ChaCha20-Poly1305 (AES-256-GCM at ProFTPD, which lacks it). What each server prefers stands below.
- **In turn.** A round has each server once, and the next one begins with another server. Figures are means of rounds,
  in parentheses their 95 % interval (Student's t) where there are at least three. A run that sshload calls Invalid is
  in no figure, but for what a search found ("or more"); nor is a search during which others used 5 % of the server's
  core.
- **All else is the server's own default**, except for what the table of servers names: keys and port, and limits on how
  many may log in at a time, which would have been measured in place of the CPU.

Each figure comes from a test in [`docs/measurements/league`](league): the heads of the tables lead there. All runs
stand in [`results.json`](league/results.json)."""

_LIMITS = """## What it does not say

- **No PAM, one user, one key**: a distribution's own OpenSSH runs PAM at each login (`UsePAM yes`), which costs more.
- **A library is no product.** It is measured with a small server of ours, or of its examples: what a product that is
  built on it does besides comes on top.
- **Isolation costs.** OpenSSH starts several processes for each login, each with fewer rights than the one before. A
  server that does it all in one process is cheaper, and an error in it has all of its rights.
- **One core, one machine, loopback**: ratios carry over to other machines better than figures do.
- **A run lasts a second.** Java compiles while it runs: Apache MINA SSHD is measured after 15 seconds of
  [load](league/warm-up.yaml), and is faster after many more. A search lasts a minute: Apache MINA SSHD and asyncssh
  make more logins in it than the CPU of a login in a short run says."""

_REDO = """## Do it again

```sh
make league
make league MINUTES=60
make league SERVE=dropbear
```

The first command measures for 15 minutes, and writes this page. Called again, it goes on where it ended. It needs root,
two cores, Debian's packages, Cargo and Go. The last command only runs one server, and says how to load it."""


def page(results: Results) -> str:
    """Return the page."""
    servers = list(results.servers.values())
    parts = [
        _HEAD.format(servers=len(servers)),
        _measured(results),
        _HOW,
        _LIMITS,
        *_tables(results, servers),
        *_agreed(results, servers),
        *_surprises(results),
        *_cannot(results, servers),
        _servers(servers),
        _REDO,
    ]
    return "\n\n".join(parts) + "\n"


def _measured(results: Results) -> str:
    date, commit, cpu, kernel, *others_told = results.machine.items()
    told = ", ".join((cpu[1], f"Linux {kernel[1]}", *(f"{name} {value}" for name, value in others_told)))
    runs = len(results.records)
    invalid = left_out(results)
    rounds = max((one.round for one in results.records), default=0)
    others = [one.others_percent for one in results.records] or [0.0]
    busy = f"Others used {median(others):.0f} % of the server's core in the median run, {max(others):.0f} % at most."
    text = (
        f"Measured on {date[1]} at {commit[1]} with {told}.\n\n"
        f"{_count(runs, 'run')} in {_count(rounds, 'round')}, {invalid} of them in no figure. {busy}"
    )
    return f"{text} {_BUSY}" if median(others) > _BUSY_PERCENT else text


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


_TABLES: Sequence[tuple[str, str, Sequence[Measurement]]] = (
    (
        "Logins",
        "Logins per second that a core takes, and the server's CPU of a login in ms.",
        (what.CAPACITY, what.LOGIN_EQUAL, what.LOGIN_DEFAULTS),
    ),
    (
        "Key exchanges",
        "The server's CPU of a login in ms. OpenSSH's `ssh` says more in a login than sshload's own client.",
        (what.LOGIN_EQUAL, what.LOGIN_MLKEM, what.LOGIN_OPENSSH, what.LOGIN_SNTRUP),
    ),
    ("Host keys", "The server's CPU of a login in ms.", (what.LOGIN_EQUAL, what.LOGIN_RSA, what.LOGIN_ECDSA)),
    ("Held sessions", "Memory of a session that is logged in and does nothing, in MB.", (what.HOLD,)),
    (
        "SFTP",
        "MB of a file per second of the server's CPU, which is what a core can do.",
        (what.SFTP_READ, what.SFTP_READ_GCM, what.SFTP_WRITE),
    ),
    (
        "Commands, lists and clones",
        "The server's CPU in ms, with that of the programs that it starts, without that of the login.",
        (what.EXEC, what.LS, what.SFTP_LIST, what.GIT_CLONE),
    ),
)


def _tables(results: Results, servers: Sequence[Entry]) -> Iterable[str]:
    for title, words, columns in _TABLES:
        measured = [one for one in columns if any(value_of(results, server.name, one) for server in servers)]
        if set(measured) - {what.LOGIN_EQUAL} or title == "Logins":
            yield f"## {title}\n\n{words}\n\n{_figures(results, servers, measured)}"


def _agreed(results: Results, servers: Sequence[Entry]) -> Iterable[str]:
    """Yield what client and server agreed on where neither was told anything."""
    agreed = {one.server: one.algorithms for one in results.records if one.measurement == what.LOGIN_DEFAULTS.name}
    rows = [[one.name, *agreed[one.name].split(", ")] for one in servers if agreed.get(one.name, ", , ") != ", , "]
    if rows:
        words = "What a server agrees on with sshload's client, which asks for mlkem768x25519 first, as OpenSSH's does."
        head = ["server", "key exchange", "host key", "cipher"]
        yield f"## What both sides prefer\n\n{words}\n\n{_table(head, rows, figures=False)}"


def _figures(results: Results, servers: Sequence[Entry], columns: Sequence[Measurement]) -> str:
    """Return a table that is sorted by its first column, the best first."""
    values = {server.name: [value_of(results, server.name, one) for one in columns] for server in servers}
    sign = 1 if columns[0].figure in _LEAST_IS_BEST else -1

    def place(name: str) -> tuple[bool, float]:
        first = values[name][0]
        return (False, sign * first.mean) if isinstance(first, Value) else (True, 0.0)

    head = ["server", *(f"[{one.words}](league/{one.name}.yaml)" for one in columns)]
    rows = [[name, *map(_shown, values[name])] for name in sorted(values, key=place)]
    return _table(head, rows)


def _shown(value: Value | Refusal | None) -> str:
    match value:
        case Value(mean, at_least=True):
            return f"{_rounded(mean)} or more"
        case Value(mean, _, None):
            return _rounded(mean)
        case Value(mean, _, low, high):
            return f"{_rounded(mean)} ({_rounded(low or 0.0)} to {_rounded(high or 0.0)})"
        case Refusal():
            return "cannot"
    return _NONE


def _rounded(number: float) -> str:
    """Return three digits of a number."""
    for least, form in ((100, ",.0f"), (10, ".1f"), (1, ".2f")):
        if number >= least:
            return format(number, form)
    return format(number, ".3f")


def _surprises(results: Results) -> Iterable[str]:
    told = surprises(results)
    if told:
        yield "## Surprises\n\n" + "\n".join(f"- {sentence}" for sentence in told)


def _cannot(results: Results, servers: Sequence[Entry]) -> Iterable[str]:
    rows = [
        [server.name, f"[{one.words}](league/{one.name}.yaml)", _cell(_cause(refusal.message))]
        for server in servers
        for one in MEASUREMENTS
        if isinstance(refusal := value_of(results, server.name, one), Refusal)
    ]
    if rows:
        yield "## What a server cannot do\n\nIn sshload's words, of the last try.\n\n" + _table(
            ["server", "what", "what it answered"], rows, figures=False
        )


def _cause(message: str) -> str:
    """Return what a failed login before the load says of its cause, or else the message."""
    found = _NOT_BEGUN.match(message)
    return found[1] if found else message


def _servers(servers: Sequence[Entry]) -> str:
    rows = [[one.name, one.version, one.build, one.program, one.changed] for one in servers]
    head = ["server", "version", "build", "what it is", "what is not its default"]
    return "## The servers\n\n" + _table(head, rows, figures=False)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], *, figures: bool = True) -> str:
    ruler = ["---", *(("---:" if figures else "---") for _ in head[1:])]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ruler, *rows))
