"""Which faults there are: derived from a reference run, so that nothing that the operator does is left out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from api_proxy import Answer, CutShort, GoneInStream, Late, Meddling, Silence, Write
from chaos_faults import Answered, Dropped, Fault, Frozen, Heard, Killed, Point, Points
from chaos_run import Run

_LATE_S = 2.0
_FROZEN_S, _FROZEN_FOR_LONG_S = 5.0, 40.0
_ANSWERS: tuple[Meddling, ...] = (*map(Answer, (403, 409, 410, 429, 500)), Late(_LATE_S), CutShort())


@dataclass(frozen=True, slots=True)
class Case:
    """One fault, made again for each run. `family` is the row of the table that it counts in."""

    family: str
    fault: Callable[[], Fault]

    def __str__(self) -> str:
        return str(self.fault())


def cases(reference: Run, heard: Heard) -> Iterator[Case]:
    """Yield all cases that a reference run gives: each effective write and event, and the first of each read."""
    writes = [*effective_writes(reference.writes)]
    for point in writes:
        for moment in ("before", "after"):
            yield Case(f"killed {moment} a write", partial(Killed, point, moment == "before"))
    reads = [point for point in heard.requests if point.verb in ("get", "list", "watch", "update") and point.nth == 1]
    for point in (*writes, *reads):
        for meddling in _answers(point):
            for for_a_while in (False, True):
                family = f"{_word(meddling)} {'for a while' if for_a_while else 'once'}"
                yield Case(family, partial(Answered, point, meddling, for_a_while))
    for event in dict.fromkeys(heard.events):
        yield Case("an event dropped", partial(Dropped, event))
        yield Case("a watch frozen", partial(Frozen, event, _FROZEN_S))
    for event in {event.resource: event for event in reversed(heard.events)}.values():
        yield Case("a watch frozen for long", partial(Frozen, event, _FROZEN_FOR_LONG_S))


def _answers(point: Point) -> Sequence[Meddling]:
    """Return the answers that a request can get; what is asked about the API itself has neither version nor rival."""
    if point.resource == "discovery":
        return tuple(answer for answer in _ANSWERS if answer not in (Answer(409), Answer(410)))
    return (*_ANSWERS, GoneInStream()) if point.verb == "watch" else (*_ANSWERS, Silence())


def _word(meddling: Meddling) -> str:
    match meddling:
        case Answer(status):
            return f"answered {status}"
        case GoneInStream():
            return "410 in the watch"
        case Late():
            return "answered late"
        case Silence():
            return "not answered"
        case _:
            return "cut in the middle"


def effective_writes(writes: Sequence[Write]) -> Iterator[Point]:
    """Yield the writes that changed something: all that were taken, but a patch that left the version as it was."""
    points, versions = Points(), dict[str, str]()
    for write in writes:
        point = points.next(write.asked)
        if write.status < 300 and not (write.method == "PATCH" and _is_known(versions, write)):
            yield point


def _is_known(versions: dict[str, str], write: Write) -> bool:
    path = write.path.removesuffix("/status")
    before, versions[path] = versions.get(path), write.version
    return before == write.version
