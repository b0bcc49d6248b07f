"""The release upgraded and rolled back under running tests, with finished ones beside them."""

from collections.abc import Iterator

from chaos_case import Case, Found
from chaos_stage import Stage
from cluster_oracles import end_of, is_loading, steady, went_back
from faults_of_many import copy_finished, touched, versions

FINISHED = 50
_RUNNING = 3
_NEXT = ("--set", "operator.podAnnotations.release=next", "--set", "runPods.labels.release=next")
"""What makes a new operator, which would make other pods."""


def cases() -> Iterator[Case]:
    """Yield the case."""
    yield Case(f"upgrade and rollback with {_RUNNING} running and {FINISHED} finished tests", _upgraded)


def _upgraded(stage: Stage) -> Found:
    ended, running = stage.namespace(), stage.namespace()
    model = steady("model")
    ended.apply(model)
    found = Found.of(end_of(stage, ended, model))
    with stage.release.away():
        copy_finished(ended, ended.get("sshloadtest", "model"), FINISHED)
    before = versions(ended)
    tests = [steady(f"runs-{number}", "60s") for number in range(_RUNNING)]
    running.apply(*tests)
    for test in tests:
        stage.followed.wait(running, test["metadata"]["name"], is_loading, "load", 120)
    stage.release.install(*_NEXT)
    running.apply(starting := steady("starting"))
    stage.release.rollback()
    ends = Found.of(*(end_of(stage, running, test) for test in (*tests, starting)))
    return Found(
        ends=(*found.ends, *ends.ends),
        problems=(*found.problems, *ends.problems, *touched(ended, before), *went_back(stage, running)),
        statuses=ends.statuses,
    )
