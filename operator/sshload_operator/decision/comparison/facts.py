"""What is known of a comparison: what is seen of its tests, and what its status remembers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sshload_contract.vocabulary import Invalidity, Verdict

from sshload_operator.api.errors import SpecError
from sshload_operator.api.load_test import parse
from sshload_operator.decision.baseline.measured import own_delay_ms
from sshload_operator.decision.comparison.figures import MEASURED, Figures, figures, most_telling
from sshload_operator.decision.comparison.plan import COMPARISON_RUN_LABEL, Place
from sshload_operator.decision.comparison.words import ComparisonPhase, ComparisonVerdict
from sshload_operator.decision.findings import word
from sshload_operator.planning.plan import spec_hash as hash_of_spec
from sshload_operator.state import Condition, Phase, Reason

MOST_REPEATS = 2
"""How often a test is made again whose generator lagged."""

_MESSAGE_LIMIT_CHARACTERS = 200
_LAGGED = frozenset(Reason(why) for why in Invalidity if why.is_own_delay)


@dataclass(frozen=True, slots=True)
class SeenTest:
    """One test as the API server shows it. `verdict` is None until it is finished; `figures` are empty till then.

    `run_id` is the comparison's run that it was made for, `spec_hash` that of what it has measured, and `spec` what it
    was told then, for a status is of this generation once there is a verdict. `own_delay_ms` is
    how much of its figures may be the generator's own delay, None where it is too little to matter.
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
    own_delay_ms: float | None
    spec: Mapping[str, Any] = field(default_factory=dict)

    def has_measured(self, spec_hash: str) -> bool:
        """Tell whether it has measured the spec of this hash. An operator of another release may hash otherwise."""
        if self.spec_hash == spec_hash:
            return True
        try:
            return bool(self.spec_hash) and hash_of_spec(parse(self.spec)) == spec_hash
        except SpecError:
            return False


@dataclass(frozen=True, slots=True)
class TestRun:
    """A test that is over, as the comparison's status remembers it. `problem` says why it has no figures.

    `uid` is its object's. `lagged` says that it has none because its generator lagged, and `repeats` how many others
    of its place lagged before.
    """

    __test__ = False  # not a pytest class

    test: str
    round: int
    variant: str
    verdict: Verdict
    reason: str
    problem: str
    figures: Figures
    uid: str = ""
    lagged: bool = False
    repeats: int = 0

    @property
    def is_repeated(self) -> bool:
        """Whether another test takes its place."""
        return self.lagged and self.repeats < MOST_REPEATS


@dataclass(frozen=True, slots=True)
class ComparisonPast:
    """What the comparison's status says of the past, which is all that survives a restart of the operator."""

    run: int
    spec_hash: str
    phase: ComparisonPhase | None
    verdict: ComparisonVerdict | None
    start_time: datetime | None
    completion_time: datetime | None
    conditions: tuple[Condition, ...]
    tests: tuple[TestRun, ...]
    written: Mapping[str, Any]


def seen_test(test: Mapping[str, Any]) -> SeenTest:
    """Return what matters of an SSHLoadTest. One whose spec is newer than its status is not finished."""
    metadata, status = test["metadata"], test.get("status") or {}
    is_over = status.get("phase") == Phase.FINISHED and status.get("observedGeneration", 0) >= metadata["generation"]
    verdict = word(Verdict, status.get("verdict")) if is_over else None
    return SeenTest(
        name=metadata["name"],
        uid=metadata["uid"],
        run_id=metadata.get("labels", {}).get(COMPARISON_RUN_LABEL, ""),
        deleting="deletionTimestamp" in metadata,
        aborting=bool(test["spec"].get("abort")),
        verdict=verdict,
        reason=status.get("reason", "") if verdict else "",
        message=status.get("message", "")[:_MESSAGE_LIMIT_CHARACTERS] if verdict else "",
        spec_hash=status.get("specHash", "") if verdict else "",
        figures=figures(status) if verdict in MEASURED else {},
        own_delay_ms=None if "capacity" in status else own_delay_ms(status),
        spec=test["spec"],
    )


def test_run(place: Place, test: SeenTest, verdict: Verdict, most_figures: int, repeats: int) -> TestRun:
    """Return what is to be remembered of a test that is over with this verdict, after so many others of its place."""
    measured_it = verdict in MEASURED and test.has_measured(place.spec_hash)
    lagged = (verdict is Verdict.INVALID and test.reason in _LAGGED) or (measured_it and test.own_delay_ms is not None)
    kept = most_telling(test.figures, most_figures)
    problem = ""
    if verdict not in MEASURED:
        problem = f"{verdict}: {test.message}"
    elif not measured_it:
        problem = "its spec was changed by somebody, so that it did not measure the variant"
    elif test.own_delay_ms is not None:
        problem = f"{verdict}, but its figures may include {test.own_delay_ms:.4g} ms of the generator's own delay"
    elif not test.figures:
        problem = f"{verdict}, without a figure that could be compared: {test.message}"
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
        uid=test.uid if lagged else "",
        lagged=lagged,
        repeats=repeats,
    )
