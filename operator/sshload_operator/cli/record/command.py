"""`sshload trace`: makes a trace for `load.replay` from an sshd's log."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Final

import click
import yaml
from sshload_contract.load.replay import MOST_ARRIVALS, MOST_SECONDS, Trace, write_trace

from sshload_operator.api.spec import TRACE
from sshload_operator.cli.exit_code import ExitCode, complain, failed
from sshload_operator.cli.options import FILE, Parsed, moment
from sshload_operator.cli.record.log_files import UnreadableLogError, read_logs
from sshload_operator.cli.record.sshd_log import Arrival, LogArrivals

_NARROW = "narrow --since and --until"
_CONFIG_MAP_BYTES = 1_000_000
"""A little less than the API server accepts."""


class TraceError(Exception):
    """A trace cannot be made; the text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A trace, and what a reader should know of it, one sentence each."""

    trace: Trace
    notes: tuple[str, ...]


_TIME: Final = Parsed("TIME", moment)


@click.command()
@click.argument("files", metavar="FILE...", type=FILE, nargs=-1, required=True)
@click.option("--since", metavar="TIME", type=_TIME, help="When the trace begins, such as 2026-11-16T09:00.")
@click.option("--until", metavar="TIME", type=_TIME, help="When the trace ends.")
@click.option("-o", "--out", metavar="FILE", type=FILE, help="Write the trace to this file, not to standard output.")
@click.option("--config-map", metavar="NAME", help="Write it as a ConfigMap of this name.")
def command(
    files: tuple[Path, ...], since: datetime | None, until: datetime | None, out: Path | None, config_map: str | None
) -> ExitCode:
    """Make a trace of when connections came to an sshd, from its log. It has times only: no address, no user.

    FILE is auth.log, or what journalctl prints (-o short-iso-precise, -o json), or - for the standard input. Rotated
    logs may be compressed by gzip, bzip2 or xz. Several files are read in the order of their times.
    """
    try:
        log = read_logs(files)
        found = recorded(log, *(None if one is None else one.timestamp() for one in (since, until)))
        text = write_trace(found.trace, found.notes)
        if config_map:
            text = _config_map(config_map, text)
        if out is None:
            sys.stdout.write(text)
        else:
            out.write_text(text, encoding="utf-8")
    except UnreadableLogError as error:
        return failed(str(error))
    except (TraceError, OSError) as error:
        return failed(f"{', '.join(map(str, files))}: {error}")
    for note in found.notes:
        complain(note)
    return ExitCode.PASSED


def recorded(log: LogArrivals, since_s: float | None, until_s: float | None) -> Recorded:
    """Return the trace of the arrivals from `since_s` on and before `until_s`, else of the whole log.

    Arrivals of a log without fractions of a second are spread evenly within each second. Raises TraceError.
    """
    if log.first_s is None or log.last_s is None:
        raise TraceError(
            "none of its lines is from syslog or the journal: give auth.log, or what"
            " `journalctl -u ssh -o short-iso-precise` or `-o json` prints"
        )
    begin_s = log.first_s if since_s is None else max(since_s, log.first_s)
    end_s = log.last_s if until_s is None else min(until_s, log.last_s)
    chosen = [
        arrival for arrival in log.arrivals if begin_s <= arrival.at_s and (until_s is None or arrival.at_s < until_s)
    ]
    if not chosen:
        whole = f"the log is from {_time(log.first_s)} to {_time(log.last_s)}, with {len(log.arrivals)} connections"
        raise TraceError(f"no connection came between {_time(begin_s)} and {_time(end_s)}: {whole} to an sshd in it")
    if len(chosen) > MOST_ARRIVALS:
        raise TraceError(f"{len(chosen)} connections are more than a trace has ({MOST_ARRIVALS}): {_NARROW}")
    offsets = [at_s - begin_s for at_s in _spread(chosen)]
    trace = Trace(offsets, max(end_s - begin_s, offsets[-1]))
    if trace.lasts_s > MOST_SECONDS:
        raise TraceError(f"a trace lasts at most {MOST_SECONDS:.0f} s, and this one {trace.lasts_s:.0f}: {_NARROW}")
    notes = _notes(trace, begin_s, chosen, log.timeless)
    return Recorded(trace, (*_beyond_log(log, since_s, until_s), *notes))


def _spread(arrivals: list[Arrival]) -> Iterator[float]:
    for at_s, group in groupby(arrivals, key=lambda arrival: arrival.at_s):
        together = list(group)
        for place, arrival in enumerate(together):
            yield at_s + (place + 0.5) / len(together) if arrival.whole_second else at_s


def _beyond_log(log: LogArrivals, since_s: float | None, until_s: float | None) -> Iterator[str]:
    """Yield a note for each end of the requested time that the log does not cover: what came then is not known."""
    if since_s is not None and log.first_s is not None and since_s < log.first_s:
        yield f"the log begins at {_time(log.first_s)}, and the trace with it"
    if until_s is not None and log.last_s is not None and until_s > log.last_s:
        yield f"the log ends at {_time(log.last_s)}, and the trace with it"


def _notes(trace: Trace, begin_s: float, chosen: list[Arrival], timeless: int) -> Iterator[str]:
    most, at_s = trace.busiest(1.0)
    yield (
        f"{len(chosen)} connections in {trace.lasts_s:g} s from {_time(begin_s)} on, at most {most} in one second"
        f" (from {at_s:g} s on)"
    )
    later = sum(not arrival.exact for arrival in chosen)
    if later:
        yield (
            f"{later} of them have the time of a later line, which can be as late as the end of the login: with"
            f" LogLevel VERBOSE, sshd logs when a connection comes"
        )
    if any(arrival.whole_second for arrival in chosen):
        yield "the log has no fractions of a second: the connections of a second are spread evenly in it"
    if timeless:
        yield (
            f"{timeless} more connections of the log have no time and are not in the trace: sshd logged only how many"
            " it dropped, or that one timed out"
        )


def _config_map(name: str, text: str) -> str:
    if len(text) > _CONFIG_MAP_BYTES:
        raise TraceError(f"the trace has {len(text)} bytes, more than a ConfigMap takes: {_NARROW}")
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {TRACE: text}}
    return yaml.dump(document, sort_keys=False, default_style=None, Dumper=_Dumper)


class _Dumper(yaml.SafeDumper):
    """Writes a text of several lines as a block."""


def _block(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _block)


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")
