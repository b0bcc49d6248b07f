"""Objects whose fields are changed one by one, and changed back, beside a real API server and a real operator."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from api_proxy import api_proxy
from api_server import ApiServer
from chaos_kinds import LIMITS, WITHIN_S
from chaos_mutations import Mutation, mutations, places, spec_schema
from chaos_mutations import Path as FieldPath
from chaos_oracles import difference, masked
from live_cluster import load_test
from operator_process import OperatorProcess
from played_namespace import OURS, PlayedNamespace, played_namespace
from sim_comparison import comparison_spec
from specs.tables import WHOLE
from sshload_operator.manifests.labels import TEST_LABEL

REFUSED, SAID, TAKEN, NO_CHANGE, WRONG = "refused by the API", "refused by the operator", "taken", "no change", "wrong"
OUTCOMES = (REFUSED, SAID, TAKEN, NO_CHANGE, WRONG)
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Subject:
    """An object whose fields are changed. `runs` says that it is not held back, so that changes come in mid-run."""

    kind: str
    name: str
    spec: Mapping[str, Any]
    skip: Sequence[str] = ()
    runs: bool = False

    def places(self) -> Iterator[FieldPath]:
        """Yield the fields that are changed."""
        return (path for path, _ in places(self.spec, spec_schema(OURS[self.kind])))

    def mutations(self) -> Iterator[Mutation]:
        """Yield the changes of its spec."""
        return mutations(self.spec, spec_schema(OURS[self.kind]), self.skip)


def subjects() -> Iterator[Subject]:
    """Yield what is changed: specs of tests, held back and running, a schedule, and a comparison."""
    for name, spec in WHOLE.items():
        yield Subject("SSHLoadTest", name, {**spec, "suspend": True}, skip=("suspend",))
    running = load_test("any", **LIMITS)["spec"]
    yield Subject("SSHLoadTest", "running", running, skip=("ttlAfterFinished",), runs=True)
    held_back = {**load_test("any")["spec"], "suspend": True}
    template = {"schedule": "0 0 1 1 *", "testTemplate": {"spec": held_back}}
    yield Subject("SSHLoadTestSchedule", "schedule", template, skip=("testTemplate",))
    compared = {**comparison_spec(), "abort": True}  # its tests cannot be suspended
    yield Subject("SSHLoadTestComparison", "comparison", compared, skip=("base", "abort"))


@dataclass(slots=True)
class Found:
    """How many changes came out how, and in words each that came out wrong."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def change_fields(server: ApiServer, folder: Path, every: int) -> Found:
    """Change each so-manieth field of all subjects; those of one subject one after the other."""
    found = Found()
    cluster = server.namespace()
    with api_proxy(server.kubeconfig, folder) as proxy:
        namespace = PlayedNamespace(cluster.namespace, proxy.logs)
        operator = OperatorProcess(proxy.kubeconfig, folder, (cluster.namespace,), proxy.wait_until_unused)
        with played_namespace(server.kubeconfig, namespace), ThreadPoolExecutor(_AT_ONCE) as pool:
            operator.start()
            try:
                list(pool.map(lambda subject: _change(namespace, subject, every, found), subjects()))
                operator.assert_not_ended()
            finally:
                operator.kill()
    if "Traceback" in operator.logs():
        found.wrong.append(operator.logs()[operator.logs().index("Traceback") :][:3000])
    return found


def _change(namespace: PlayedNamespace, subject: Subject, every: int, found: Found) -> None:
    metadata = {"name": subject.name}
    namespace.apply(
        {"apiVersion": "sshload.dev/v1alpha1", "kind": subject.kind, "metadata": metadata, "spec": subject.spec}
    )
    before = _recovered(namespace, subject, 1)
    assert before is not None, f"{subject.name}: nothing was said of it"
    for mutation in list(subject.mutations())[::every]:
        outcome, words = _outcome(namespace, subject, mutation, before)
        found.counts[subject.kind, outcome] += 1
        if outcome == WRONG:
            found.wrong.append(f"{subject.kind} {subject.name}: {mutation}: {words}")


def _outcome(
    namespace: PlayedNamespace, subject: Subject, mutation: Mutation, before: Mapping[str, Any]
) -> tuple[str, str]:
    """Change a field and change it back; return what came of it."""
    generation = _object(namespace, subject)["metadata"]["generation"]
    code, answer = namespace.replace_spec(subject.kind, subject.name, mutation.spec)
    if code >= 400:
        return (REFUSED, "") if code in (400, 422) and answer["message"] else (WRONG, str(answer))
    if answer["metadata"]["generation"] == generation:
        return NO_CHANGE, ""
    said = _settled(namespace, subject, answer["metadata"]["generation"])
    code, answer = namespace.replace_spec(subject.kind, subject.name, subject.spec)
    assert code < 400, answer
    after = _recovered(namespace, subject, answer["metadata"]["generation"])
    if said is None or after is None:
        return (
            WRONG,
            f"nothing was said within {WITHIN_S:g} s after {'the change' if said is None else 'the end of it'}",
        )
    if after != before:
        return WRONG, f"not as before: {difference(before, after)}"
    stalled = [one for one in said["conditions"] if one["type"] == "Stalled" and one["status"] == "True"]
    if stalled and not stalled[0]["message"]:
        return WRONG, f"no reason was said: {said}"
    return (SAID if stalled else TAKEN), ""


def _recovered(namespace: PlayedNamespace, subject: Subject, generation: int) -> Mapping[str, Any] | None:
    """Return the masked status that an object comes back to; of one that runs, once its run is over and swept."""

    def is_over() -> bool:
        over = _object(namespace, subject).get("status", {}).get("phase") == "Finished"
        return over and all(kind in ("SSHLoadTest", "ConfigMap") for kind, _ in _children(namespace, subject))

    status = _settled(namespace, subject, generation)
    if not subject.runs or status is None:
        return status
    over = namespace.wait(is_over, WITHIN_S) and len(_children(namespace, subject)) == 1
    return _settled(namespace, subject, generation) if over else None


def _children(namespace: PlayedNamespace, subject: Subject) -> Sequence[tuple[str, str]]:
    """Return kind and name of all that a test's runs have made and that is there."""
    there = list(namespace.objects.items())
    return [key for key, body in there if body["metadata"].get("labels", {}).get(TEST_LABEL) == subject.name]


def _settled(namespace: PlayedNamespace, subject: Subject, generation: int) -> Mapping[str, Any] | None:
    """Return the masked status once it speaks of a generation, None where it does not within a minute."""

    def speaks() -> bool:
        seen: int = _object(namespace, subject).get("status", {}).get("observedGeneration", 0)
        return seen >= generation

    if not namespace.wait(speaks, WITHIN_S):
        return None
    status: Mapping[str, Any] = masked(_object(namespace, subject))["status"]
    return {name: value for name, value in status.items() if name not in ("observedGeneration", "run", "test")}


def _object(namespace: PlayedNamespace, subject: Subject) -> Mapping[str, Any]:
    return namespace.objects.get((subject.kind, subject.name), {})
