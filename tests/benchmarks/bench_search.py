"""The search for the capacity on simulated servers, and MLRsearch on the same. Writes docs/measurements/search.*."""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from typing import Any

from limited_server import PROMISE, Ended, Figures, LimitedServer, Noise, figures, mlrsearch, ours, servers
from record import add_folder, keep, machine, table

_NOISES = (
    *(Noise(), Noise(0.01), Noise(0.02), Noise(0.02, 0.02), Noise(0.05), Noise(0.10)),
    *(Noise(lapses=0.1), Noise(lapses=0.2)),
)
_CONFIRMS = (2, 1)
_WIDTHS = (PROMISE / 2, PROMISE)
_TITLE = "# The search for the capacity, simulated"
_WHAT = """\
Each line is {searches:,} searches from 10 to 2,000 with a precision of 5 %, of servers with limits spread evenly, in
log space, from 12 to 1,800. A trial passes with probability one half at the limit. *Noise* is the standard deviation
of the limit from trial to trial; of *flakes*, the verdict is the toss of a coin; of the trials that would pass,
*lapses* fail nonetheless. *Within 5 %* is the share of searches of which the reported value was at most 5 % off the
limit; *between*, of which the limit was between the bounds. MLRsearch {mlrsearch} searched the same servers; as many
trials of one length had to agree at its bounds (`duration_sum` 2 x confirm + 1 of trials of 1, `exceed_ratio` 0.5,
`loss_ratio` 0), which had to be as near to each other as ours, half of the precision; `search.json` also has
MLRsearch with the whole precision. [Why the search is as it is](../design/20261121-the-search.md).
`make bench WHAT=search` measures again."""
_VERDICTS = """## By verdicts

As of users, held sessions and bursts: all that is known of a trial is whether it passed."""
_RATES = """## By completed rates too

As of arrivals: an overloaded server completes 1, 1.15 or 1.3 times its limit per second, less up to half of that, by
chance, on every second server; with a noise of 1 %."""


def main() -> None:
    """Search all servers, print the tables, and keep them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--searches", type=int, default=1000)
    add_folder(parser)
    options = parser.parse_args()
    searches = options.searches
    where = machine("MLRsearch")
    rows = list(_rows(searches))
    shown = [row for row in rows if row["width"] != PROMISE]
    paragraphs = [
        text
        for heading, completed in ((_VERDICTS, False), (_RATES, True))
        for text in (heading, _table([row for row in shown if row["completed"] is completed]))
    ]
    what = _WHAT.format(searches=searches, mlrsearch=where["MLRsearch"])
    keep(options.out / "search", where, [_TITLE, what, *paragraphs], rows)
    print("\n\n".join(paragraphs))  # noqa: T201 - its output is what it is for


def _rows(searches: int) -> Iterator[dict[str, Any]]:
    for completed in (False, True):
        for confirm in _CONFIRMS:
            for noise in _NOISES:
                for width, search in _searches(confirm):
                    found = _figures(search, servers(noise, searches, completed=completed))
                    told = {"width": width, "confirm": confirm, "completed": completed}
                    yield {"search": "ours" if width is None else "MLRsearch", **told, **asdict(noise), **asdict(found)}


def _searches(confirm: int) -> Iterator[tuple[float | None, Callable[[LimitedServer], Ended]]]:
    yield None, partial(ours, confirm=confirm)
    for width in _WIDTHS:
        yield width, partial(mlrsearch, width=width, confirm=confirm)


def _figures(search: Callable[[LimitedServer], Ended], tried: list[LimitedServer]) -> Figures:
    return figures([search(server) for server in tried])


def _table(rows: list[dict[str, Any]]) -> str:
    """Return a table of both searches side by side, which take turns in the rows."""
    asked = ("confirm", "noise", "flakes", "lapses")
    told = ("within 5 %", "between", "trials, mean", "p95", "most")
    return table(
        (*asked, *(f"{who} {what}" for what in told for who in ("ours:", "MLRsearch:"))),
        (
            (
                str(own["confirm"]),
                f"{own['sigma']:.0%}",
                f"{own['flakes']:.0%}",
                f"{own['lapses']:.0%}",
                *(cell for cells in zip(_cells(own), _cells(other), strict=True) for cell in cells),
            )
            for own, other in zip(rows[::2], rows[1::2], strict=True)
        ),
    )


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    shares, counts = (row["within"], row["between"]), (row["trials_p95"], row["trials_max"])
    return (*(f"{share:.1%}" for share in shares), f"{row['trials_mean']:.1f}", *map(str, counts))


if __name__ == "__main__":
    main()
