"""What is observed of a comparison's tests, and what its status remembers of each that is over."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sshload_contract.shortened import shortened
from sshload_contract.vocabulary import MEASURED_VERDICTS, Invalidity, Verdict

from sshload_operator.api.load_test import parse
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.compared import Figures, compared_figures, most_telling
from sshload_operator.api.status.comparison import MOST_AGREED, MOST_REPEATS, TestRun
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.results import Agreement
from sshload_operator.decision.baseline.measured import own_delay_ms
from sshload_operator.decision.comparison.plan import COMPARISON_RUN_LABEL, Place
from sshload_operator.planning.plan import spec_hash as hash_of_spec
from sshload_operator.state import Phase, Reason

_MESSAGE_LIMIT_CHARACTERS = 200
_LAGGED = frozenset(Reason(why) for why in Invalidity if why.is_own_delay)


@dataclass(frozen=True, slots=True)
class ObservedTest:
    """One test as the API server shows it. Until it is finished, `verdict` is None and `figures` are empty.

    `run_id` is the run of the comparison for which it was created. `spec_hash` is that of the spec that it measured,
    and `spec` is that spec, because with a verdict the status is of the present generation. `own_delay_ms` is how much
    of its figures may be the generator's own delay, None if it is too little to matter.
    """

    name: str
    uid: str
    run_id: str
    deleting: bool
    aborting: bool
    verdict: Verdict | None
    reason: str
    message: str
    spec_hash: str
    figures: Figures
    negotiated: tuple[Agreement, ...]
    own_delay_ms: float | None
    spec: Mapping[str, Any]

    def has_measured(self, spec_hash: str) -> bool:
        """Return whether it measured the spec with this hash. An operator of another release may hash differently."""
        if self.spec_hash == spec_hash:
            return True
        try:
            return bool(self.spec_hash) and hash_of_spec(parse(self.spec)) == spec_hash
        except SpecError:
            return False


def observed_test(test: Mapping[str, Any]) -> ObservedTest:
    """Return the relevant part of an SSHLoadTest. One whose spec is newer than its status is not finished."""
    metadata, status = test["metadata"], read_fitting(TestStatus, test.get("status"))
    is_over = status.phase is Phase.FINISHED and (status.observed_generation or 0) >= metadata["generation"]
    verdict = status.verdict if is_over else None
    return ObservedTest(
        name=metadata["name"],
        uid=metadata["uid"],
        run_id=metadata.get("labels", {}).get(COMPARISON_RUN_LABEL, ""),
        deleting="deletionTimestamp" in metadata,
        aborting=bool(test["spec"].get("abort")),
        verdict=verdict,
        reason=status.reason if verdict else "",
        message=shortened(status.message, _MESSAGE_LIMIT_CHARACTERS) if verdict else "",
        spec_hash=status.spec_hash if verdict else "",
        figures=compared_figures(status) if verdict in MEASURED_VERDICTS else {},
        negotiated=() if status.results is None else status.results.negotiated[:MOST_AGREED],
        own_delay_ms=None if status.capacity is not None else own_delay_ms(status),
        spec=test["spec"],
    )


def test_run(place: Place, test: ObservedTest, verdict: Verdict, most_figures: int, repeats: int) -> TestRun:
    """Return what to remember of a test that ended with this verdict, after `repeats` others in its place."""
    measured_it = verdict in MEASURED_VERDICTS and test.has_measured(place.spec_hash)
    lagged = (verdict is Verdict.INVALID and test.reason in _LAGGED) or (measured_it and test.own_delay_ms is not None)
    kept = most_telling(test.figures, most_figures)
    problem = ""
    if verdict not in MEASURED_VERDICTS:
        problem = f"{verdict}: {test.message}"
    elif not measured_it:
        problem = "somebody changed its spec, so that it did not measure the variant"
    elif test.own_delay_ms is not None:
        problem = f"{verdict}, but its figures may include {test.own_delay_ms:.4g} ms of the generator's own delay"
    elif not test.figures:
        problem = f"{verdict}, without a comparable figure: {test.message}"
    if lagged and repeats:
        problem = f"{problem} (test {repeats + 1} of {MOST_REPEATS + 1} in its place)"
    return TestRun(
        test=place.test,
        round=place.round,
        variant=place.variant,
        verdict=verdict,
        reason=test.reason,
        problem=problem,
        figures={} if problem else {key: value for key, value in test.figures.items() if key in kept},
        negotiated=() if problem else test.negotiated,
        uid=test.uid if lagged else "",
        repeats=repeats,
    )
