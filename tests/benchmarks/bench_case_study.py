"""The case study again: each figure and each claim as a table, as they come, into docs/measurements/case-study.*."""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Final

from record import add_folder, keep, machine
from study_figures import Scale, figure_1, figure_2, outlier, windows
from study_gateway import gateway, policies
from study_runs import Study

_TITLE: Final = "# The case study, measured"
_WHAT: Final = """What the study claims, measured again by `sshload compare` on the objects of `examples/case-study`,
with a real sshd and a real gateway, the server and the workers on the same CPUs. A cell has the median over the
tests, then the least and the most of them. The tests of a comparison run in turns. [The case
study](../explanation/case-study.md) says what differs from the study, and why. `make case-study` measures again; the
tests behind the tables are in `case-study.json`."""
_PARTS: Final[Mapping[str, tuple[str, Callable[[Study, Scale], Iterator[str]]]]] = {
    "gateway": ("What the gateway costs", gateway),
    "policies": ("Policies of the gateway", policies),
    "figure-1": ("Figure 1: response time by rate", figure_1),
    "outlier": ("Figure 1: its outlier", outlier),
    "windows": ("Windows at 20 ms of round trip", windows),
    "figure-2": ("Figure 2: many clients at one instant", figure_2),
}


def main() -> None:
    """Measure what was chosen, print each table once it is there, and keep them."""
    options = _options()
    where = machine("ssh2-python", "asyncssh", "uvicorn")
    paragraphs = [_TITLE, _WHAT]
    scale = Scale(**{one.name: getattr(options, one.name) for one in fields(Scale)})
    with tempfile.TemporaryDirectory() as name:
        study = Study(Path(name), time.monotonic() + options.minutes * 60)
        for part in options.only:
            title, measure = _PARTS[part]
            _add(paragraphs, f"## {title}")
            for paragraph in measure(study, scale) if study.has_time else ["There was no time left for it."]:
                _add(paragraphs, paragraph)
                keep(options.out / "case-study", where, paragraphs, study.kept)


def _add(paragraphs: list[str], paragraph: str) -> None:
    paragraphs.append(paragraph)
    print(f"{paragraph}\n", flush=True)  # noqa: T201 - its output is what it is for


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(_PARTS), default=list(_PARTS))
    parser.add_argument("--minutes", type=float, default=25, help="what has not been measured by then is left out")
    parser.add_argument(
        "--seconds", type=int, default=8, help="of a test at a rate; those of as many users as can are half as long"
    )
    parser.add_argument("--warm-up-seconds", type=int, default=1, help="before each test but those of figure 2")
    parser.add_argument("--commands", nargs="+", default=["uptime", "sleep 0.1"], help="of the policies")
    parser.add_argument("--rates", help="requests per second of figure 1, as a sweep has them")
    parser.add_argument("--clients", help="clients of figure 2, as a sweep has them")
    parser.add_argument(
        "--rounds",
        type=int,
        default=5,
        help="of the outlier and the gateway; 3 at most at 90 per second, 2 of policies and windows",
    )
    parser.add_argument("--trials", type=int, default=10, help="of each command and number of clients of figure 2")
    add_folder(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
