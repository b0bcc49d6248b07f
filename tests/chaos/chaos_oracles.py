"""What has to hold of every run, whatever befell it, held against a run that nothing befell.

What may differ is MASK, each entry with its reason. Everything else of a final object is compared.
"""

import gzip
import json
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from api_proxy import Answer
from chaos_faults import Answered, Fault, Killed, named
from chaos_run import Run
from played_namespace import OURS, Happening
from sshload_operator.state import Phase

MASK: Mapping[str, str] = {
    "metadata.uid": "each object has its own",
    "metadata.resourceVersion": "a count of all writes to the API server",
    "metadata.creationTimestamp": "when it was made",
    "metadata.managedFields": "who wrote what when; the fields themselves are compared",
    "metadata.generation": "the API server's count of edits, of which deletions are one",
    "metadata.namespace": "each run has its own",
    "metadata.deletionTimestamp": "when it was deleted",
    "metadata.deletionGracePeriodSeconds": "said with the time of deletion",
    "spec.clusterIP": "the API server chooses it",
    "spec.clusterIPs": "the API server chooses it",
    "status.startTime": "when it began",
    "status.completionTime": "when it ended",
    "status.progress": "what the last pass saw of the load, which may be earlier or later",
}
AS_THE_REFERENCE, EXCUSED, NOT_REACHED, WRONG = "as the reference", "excused", "not reached", "wrong"
OUTCOMES = (AS_THE_REFERENCE, EXCUSED, NOT_REACHED, WRONG)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+\d\d:\d\d)")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SECRET_DATA = "data"
_PHASES = [str(phase) for phase in Phase]


def problems(reference: Run, run: Run) -> Iterator[str]:
    """Yield what is wrong with a run, in words."""
    if not run.is_over:
        yield f"not over: {_standing(run)}"
    yield from (f"the operator ended of itself with exit code {code}" for code in run.ends)
    if "Traceback" in run.log:
        yield f"traceback: {run.log[run.log.index('Traceback') :][:1500]}"
    yield from backwards(run.history)
    yield from _different_ends(reference, run)
    yield from _different_counts(reference, run)


def backwards(history: Sequence[Happening]) -> Iterator[str]:
    """Yield where a status went back: to an earlier phase of the same run, or after its end."""
    last: dict[str, Mapping[str, Any]] = {}
    for happening in history:
        if happening.kind not in ("SSHLoadTest", "SSHLoadTestComparison"):
            continue
        uid, status = happening.body["metadata"]["uid"], happening.body.get("status", {})
        before = last.get(uid, {})
        last[uid] = status
        if "phase" not in before or before.get("run") != status.get("run"):
            continue
        if "phase" not in status:
            yield f"{happening.name}: back from {before['phase']} to none"
            continue
        if happening.kind == "SSHLoadTest" and _PHASES.index(status["phase"]) < _PHASES.index(before["phase"]):
            yield f"{happening.name}: back from {before['phase']} to {status['phase']}"
        if before["phase"] == "Finished" and status != before:
            yield f"{happening.name}: rewritten after its end: {difference(before, status)}"


def _standing(run: Run) -> str:
    left = {(one.kind, one.body["metadata"]["uid"]): one for one in run.history}
    there = [one for one in left.values() if one.type != "DELETED"]
    ours = [json.dumps(one.body.get("status", {}))[:400] for one in there if one.kind in OURS]
    return f"{', '.join(ours)}; left: {', '.join(f'{one.kind}/{named(one.name)}' for one in there)}"


def _different_ends(reference: Run, run: Run) -> Iterator[str]:
    wanted, found = ends(reference), ends(run)
    for key in sorted({*wanted, *found}):
        if key not in found:
            yield f"{key}: never made"
        elif key not in wanted:
            yield f"{key}: made, and not in the reference"
        elif found[key] != wanted[key]:
            yield f"{key}: {difference(wanted[key], found[key])}"


def ends(run: Run) -> dict[str, Any]:
    """Return the last of each object but pods, masked, and how it went, by kind and name."""
    return {
        f"{one.kind}/{named(one.name)}": {"gone": _how_it_went(run, one), "body": masked(one.body)}
        for one in run.history
        if one.kind != "Pod"
    }


def _how_it_went(run: Run, last: Happening) -> str:
    if last.type != "DELETED":
        return "there"
    return "collected" if last.body["metadata"]["uid"] in run.collected else "deleted"


def masked(whole: Mapping[str, Any]) -> Any:
    """Return an object without what may differ between two runs."""
    body = json.loads(json.dumps(whole))
    for path in MASK:
        part, _, name = path.partition(".")
        body.get(part, {}).pop(name, None)
    if body["kind"] == "Secret":
        body[_SECRET_DATA] = sorted(body.get(_SECRET_DATA, {}))
    packed = body.pop("binaryData", {})
    body["unpacked"] = {name: gzip.decompress(b64decode(text)).decode() for name, text in packed.items()}
    text = json.dumps(body, sort_keys=True).replace(whole["metadata"]["namespace"], "NAMESPACE")
    for run_id in {*re.findall(r'"sshload.dev/(?:comparison-run|run-id)": "([0-9a-f]{10})"', text)}:
        text = text.replace(run_id, "RUN")
    text = re.sub(r'"sshload.dev/proof-sha256": "[0-9a-f]{64}"', '"sshload.dev/proof-sha256": "PROOF"', text)
    return json.loads(_UUID.sub("UID", _TIME.sub("TIME", named(text))))


def _different_counts(reference: Run, run: Run) -> Iterator[str]:
    for what, type_ in (("created", "ADDED"), ("deleted", "DELETED")):
        wanted, found = counts(reference, type_), counts(run, type_)
        if wanted != found:
            yield f"{what}: {dict(found - wanted)} more, {dict(wanted - found)} fewer"


def counts(run: Run, type_: str) -> Counter[str]:
    """Return how often objects were created, or deleted but for those that lost their owner, by kind."""
    passed_over = run.collected if type_ == "DELETED" else frozenset[str]()
    return Counter(
        one.kind
        for one in run.history
        if one.type == type_ and one.kind != "Pod" and one.body["metadata"]["uid"] not in passed_over
    )


def difference(before: Any, after: Any, path: str = "") -> str:
    """Return where two values differ first."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            if before.get(key) != after.get(key):
                return difference(before.get(key), after.get(key), f"{path}.{key}")
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            if one != other:
                return difference(one, other, f"{path}[{index}]")
    return f"{path}: {json.dumps(before)[:200]} became {json.dumps(after)[:200]}"


@dataclass(frozen=True, slots=True)
class Excuse:
    """A difference from the reference that is right under some faults, and why.

    `difference` is its pattern; all of `must_say` has to be in the last status of one of the tests. `among` is a kind
    that has to be there, where one has.
    """

    reason: str
    faults: Callable[[Fault], bool]
    difference: str
    must_say: tuple[str, ...] = ()
    among: str = "SSHLoadTest"

    def covers(self, fault: Fault, run: Run, problem: str) -> bool:
        """Tell whether what was found is excused."""
        last = {one.body["metadata"]["uid"]: json.dumps(one.body.get("status", {})) for one in run.history}
        is_said = any(all(words in said for words in self.must_say) for said in last.values())
        is_among = any(one.kind == self.among for one in run.history)
        return self.faults(fault) and is_said and is_among and re.match(self.difference, problem) is not None


def _cuts_start_short(fault: Fault) -> bool:
    """Tell whether a fault may fall between the creation of the run's Secret and the apply of its master's Job."""
    return isinstance(fault, Killed) or (isinstance(fault, Answered) and fault.point.verb in ("create", "patch"))


def _refuses(resource_and_name: str) -> Callable[[Fault], bool]:
    """Return whether a fault is a refusal of a write to what matches."""

    def refuses(fault: Fault) -> bool:
        return (
            isinstance(fault, Answered)
            and fault.meddling == Answer(403)
            and fault.point.verb in ("create", "patch")
            and re.fullmatch(resource_and_name, f"{fault.point.resource} {fault.point.name}") is not None
        )

    return refuses


_OWN = r"SSHLoadTest(Schedule|Comparison)?/"
EXCUSES = (
    Excuse(
        "the run's Secret is made again where its token was lost before the master's Job was there",
        _cuts_start_short,
        r"(created|deleted): {'Secret': \d+} more, {} fewer",
    ),
    Excuse(
        "a child that the API server forbids ends the run as an error that says so",
        _refuses(r"(secrets|deployments|jobs) .*|(configmaps|networkpolicies|services) .*-RUN-(?!results).*"),
        rf"\w+/[\w-]+-RUN-\w+: never made|{_OWN}|(created|deleted): {{}} more",
        must_say=('"verdict": "Error"', '"reason": "PodRejected"', "403: "),
    ),
    Excuse(
        "results that the API server forbids are missing, and the status says so",
        _refuses(r"configmaps .*-RUN-results"),
        rf"ConfigMap/[\w-]+-RUN-results: never made|{_OWN}[\w-]+: .body.status|created: {{}} more",
        must_say=('"verdict": "Passed"', "The results ConfigMap was refused: 403"),
    ),
    Excuse(
        "a schedule that keeps no finished test deletes it at once, and the garbage collector what is left of its run",
        lambda _: True,
        r'\w+/[\w-]+-RUN-\w+: \.gone: "deleted" became "collected"|deleted: {} more',
        among="SSHLoadTestSchedule",
    ),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run came out: one of OUTCOMES, and in words what was wrong, or why a difference is right."""

    word: str
    said: tuple[str, ...] = ()


def judged(reference: Run, run: Run, fault: Fault) -> Outcome:
    """Hold a run against its reference."""
    found = tuple(problems(reference, run))
    if not found:
        return Outcome(AS_THE_REFERENCE if run.reached else NOT_REACHED)
    reasons = [_reason(fault, run, problem) for problem in found]
    return Outcome(EXCUSED, ("; ".join(dict.fromkeys(reasons)),)) if all(reasons) else Outcome(WRONG, found)


def _reason(fault: Fault, run: Run, problem: str) -> str:
    """Return why a difference is right, empty where it is not."""
    return next((excuse.reason for excuse in EXCUSES if excuse.covers(fault, run, problem)), "")
