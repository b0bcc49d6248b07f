"""What a run's children, results and test go through at an API server: orders, refusals, and attempts that were cut."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest
from aiohttp import web
from passes import START
from plans import EXTERNAL, plan, quickstart
from played_api import played_cluster
from played_objects import PlayedObjects
from specs.small import SMALL
from sshload_contract.wire.master_log import proof_sha256
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.control.run.cluster_world import ClusterWorld
from sshload_operator.control.run.observe import Observations, Rejection
from sshload_operator.decision.life_cycle import MESSAGE_LIMIT_CHARACTERS
from sshload_operator.manifests import Part, child_name, results_ref, swept
from sshload_operator.manifests.labels import PROOF_SHA256_ANNOTATION
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Announcement, Reason, Role

TO_EXTERNAL = plan({**SMALL, "target": {"external": EXTERNAL}})
TO_MANAGED = plan(quickstart())
METADATA = {"namespace": "load-tests", "name": "quickstart", "uid": TO_MANAGED.test.uid, "resourceVersion": "7"}
Do = Callable[[ClusterWorld], Awaitable[Any]]


def played(api: PlayedObjects, observations: Observations, *steps: Do, newest: Any = None) -> list[Any]:
    """Take steps one after the other, each in a world of its own as each pass has one; return results and errors."""

    async def play() -> list[Any]:
        found: list[Any] = []
        async with played_cluster(api.answer) as cluster:
            for step in steps:
                world = ClusterWorld(cluster, TO_MANAGED.test, "1", observations, START, newest)
                try:
                    found.append(await step(world))
                except ApiError as error:
                    found.append(error.status)
        return found

    return asyncio.run(play())


def start(run: Plan) -> Do:
    return lambda world: world.start(run)


def collections(names: Iterable[str]) -> list[str]:
    return [name.partition("/")[0] for name in names]


def test_what_makes_pods_is_made_once_all_else_is_there_and_the_masters_job_before_all_others() -> None:
    api = PlayedObjects()
    assert played(api, Observations(), start(TO_MANAGED)) == [None]
    made = api.names("POST", "PATCH")
    assert made[0] == f"secrets/{child_name(TO_MANAGED, Part.KEYS)}"
    of_pods = [name for name in made if name.startswith(("jobs/", "deployments/"))]
    assert made[-len(of_pods) :] == of_pods
    assert of_pods[0] == f"jobs/{child_name(TO_MANAGED, Role.MASTER)}"
    assert sorted(collections(of_pods[1:])) == ["deployments", "jobs"]
    assert api.names("POST") == [made[0], *of_pods], "applied again, another release would replace their pods"


@pytest.mark.slow
def test_the_secret_of_a_run_has_the_keys_of_all_that_it_deploys() -> None:
    behind = plan(quickstart(target={"managed": {"gateway": {"policy": "pool"}}}))

    def names(run: Plan) -> set[str]:
        api = PlayedObjects()
        assert played(api, Observations(), start(run)) == [None]
        return set(api.there[f"secrets/{child_name(run, Part.KEYS)}"]["stringData"])

    assert names(TO_EXTERNAL) < names(TO_MANAGED) < names(behind)


def test_a_start_that_failed_leaves_no_request_behind() -> None:
    api, answered = PlayedObjects(refuses={("PATCH", "services"): [503]}), []

    async def late(request: web.Request) -> web.Response:
        found = await api.answer(request)
        if "configmaps" in request.path:
            await asyncio.sleep(0.1)
        answered.append(request.path)
        return found

    async def play() -> None:
        async with played_cluster(late) as cluster:
            with pytest.raises(ApiError):
                await ClusterWorld(cluster, TO_MANAGED.test, "1", Observations(), START, None).start(TO_MANAGED)
            assert len(answered) == len(api.asked)

    asyncio.run(play())


def proof(api: PlayedObjects) -> str:
    annotations = api.there[f"jobs/{child_name(TO_EXTERNAL, Role.MASTER)}"]["metadata"]["annotations"]
    return str(annotations[PROOF_SHA256_ANNOTATION])


def token(api: PlayedObjects) -> str:
    (text,) = api.there[f"secrets/{child_name(TO_EXTERNAL, Part.KEYS)}"]["stringData"].values()
    return str(text)


def test_a_start_that_is_repeated_leaves_token_and_proof_as_the_pods_know_them() -> None:
    api = PlayedObjects()
    assert played(api, Observations(), start(TO_EXTERNAL)) == [None]
    before = token(api)
    assert proof(api) == proof_sha256(before)
    del api.there[f"jobs/{child_name(TO_EXTERNAL, Role.WORKER)}"]
    assert played(api, Observations(), start(TO_EXTERNAL)) == [None]
    assert (token(api), proof(api)) == (before, proof_sha256(before))
    assert f"jobs/{child_name(TO_EXTERNAL, Role.WORKER)}" in api.there


@pytest.mark.parametrize("left", [{}, {"metadata": {"annotations": {}}}, {"metadata": {}}])
def test_a_token_that_no_master_has_is_made_anew(left: dict[str, Any]) -> None:
    secret, job = f"secrets/{child_name(TO_EXTERNAL, Part.KEYS)}", f"jobs/{child_name(TO_EXTERNAL, Role.MASTER)}"
    known = {"metadata": {}, "stringData": {"token": "of an attempt that was cut short"}}
    api = PlayedObjects({secret: known, **({job: left} if left else {})})
    made: list[str] = []

    async def play(world: ClusterWorld) -> None:
        await world.start(TO_EXTERNAL)
        made.append(token(api))

    assert played(api, Observations(), play) == [None]
    assert made != ["of an attempt that was cut short"]
    if not left:
        assert proof(api) == proof_sha256(made[0])


@pytest.mark.parametrize(
    ("method", "collection", "kind"),
    [("POST", "secrets", "Secret"), ("PATCH", "services", "Service"), ("POST", "jobs", "Job")],
)
def test_a_child_that_is_refused_is_told_by_its_kind_and_what_was_said_until_it_is_made(
    method: str, collection: str, kind: str
) -> None:
    api, observations = PlayedObjects(refuses={(method, collection): [403]}), Observations()
    assert played(api, observations, start(TO_EXTERNAL)) == [None]
    assert observations.refused is not None
    assert (observations.refused.kind, observations.refused.message.rpartition(": ")[2]) == (kind, "not today")
    assert played(api, observations, start(TO_EXTERNAL)) == [None]
    assert observations.refused is None


def test_no_pod_is_made_where_something_that_it_needs_is_refused() -> None:
    api, observations = PlayedObjects(refuses={("PATCH", "configmaps"): [403]}), Observations()
    played(api, observations, start(TO_EXTERNAL))
    assert "jobs" not in collections(api.names("POST"))
    api = PlayedObjects(refuses={("POST", "jobs"): [403]})
    played(api, Observations(), start(TO_EXTERNAL))
    assert api.names("POST")[1:] == [f"jobs/{child_name(TO_EXTERNAL, Role.MASTER)}"]


def refused_after(*answers: int) -> list[bool]:
    """Return after each attempt to start a run whether a child counts as refused; the Service is answered so."""
    observations, found = Observations(), []
    for status in answers:
        observations.refused = None
        api = PlayedObjects(refuses={("PATCH", "services"): [status] if status else []})
        (raised,) = played(api, observations, start(TO_EXTERNAL))
        assert (raised is None) is (not status or observations.refused is not None)
        found.append(observations.refused is not None)
    return found


@pytest.mark.slow
def test_faults_of_the_api_server_are_outlived_seven_times_in_a_row_and_each_end_of_an_attempt_begins_anew() -> None:
    assert refused_after(*[500] * 8) == [False] * 7 + [True]
    assert refused_after(*[500] * 7, 0, *[500] * 7) == [False] * 15
    assert refused_after(*[500] * 8, *[500] * 7) == [*[False] * 7, True, *[False] * 7]
    assert refused_after(*[503] * 9, *[409] * 3) == [False] * 12


def test_what_was_refused_once_is_no_reason_against_the_next_run_that_meets_a_fault() -> None:
    api, observations = (
        PlayedObjects(refuses={("PATCH", "services"): [500]}),
        Observations(refused=Rejection("Job", "no")),
    )
    assert played(api, observations, start(TO_EXTERNAL)) == [500]
    assert observations.refused == Rejection("Job", "no")
    assert played(api, observations, start(TO_EXTERNAL)) == [None]
    assert observations.refused is None


RESULTS = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"namespace": "load-tests", "name": "quickstart-results"},
    "data": {},
}
STATUS = {"message": "all thresholds were met", "resultsConfigMap": "quickstart-results", "run": 1}


def test_results_are_named_by_the_status_where_they_are_stored_and_a_refusal_is_told_in_their_place() -> None:
    def store(world: ClusterWorld) -> Awaitable[Any]:
        return world.store(RESULTS, STATUS)

    assert played(PlayedObjects(), Observations(), store) == [STATUS]
    refused, failed = played(PlayedObjects(refuses={("PATCH", "configmaps"): [403, 500]}), Observations(), store, store)
    assert "resultsConfigMap" not in refused
    assert refused["message"].startswith("all thresholds were met The results ConfigMap was refused: ")
    assert refused["message"].endswith("not today")
    assert failed == 500


def test_a_message_makes_room_for_what_was_said_of_results_that_were_refused() -> None:
    def store(world: ClusterWorld) -> Awaitable[Any]:
        return world.store(RESULTS, {**STATUS, "message": "word " * 790})

    (refused,) = played(PlayedObjects(refuses={("PATCH", "configmaps"): [403]}), Observations(), store)
    assert refused["message"].endswith("not today")
    assert refused["message"].startswith("word word")
    assert MESSAGE_LIMIT_CHARACTERS - len("word ") <= len(refused["message"]) <= MESSAGE_LIMIT_CHARACTERS


def test_results_of_earlier_runs_are_deleted_and_those_that_are_gone_hinder_nothing() -> None:
    kept, *others = (f"configmaps/{results_ref(TO_MANAGED.test, run).name}" for run in ("r0", "r1", "r2"))
    api = PlayedObjects({kept: {"metadata": {}}, others[1]: {"metadata": {}}})
    assert played(api, Observations(), lambda world: world.discard_results(["r1", "r2"])) == [None]
    assert (sorted(api.names("DELETE")), list(api.there)) == (sorted(others), [kept])


def test_the_masters_job_goes_last_of_what_a_run_has_made_and_what_is_gone_already_hinders_nothing() -> None:
    names = {f"{ref.api_path.split('/')[-2]}/{ref.name}" for ref in swept(TO_MANAGED.test, "r1")}
    api, observations = (
        PlayedObjects({name: {"metadata": {}} for name in names}),
        Observations(orphans=("r0", "r1", "r2")),
    )
    del api.there[min(names)]
    played(api, observations, lambda world: world.sweep(["r1"]))
    assert (set(api.names("DELETE")), api.there) == (names, {})
    assert api.names("DELETE")[-1] == "jobs/" + next(
        ref.name for ref in swept(TO_MANAGED.test, "r1") if ref.kind == "Job" and ref.name.endswith("master")
    )
    assert observations.orphans == ("r0", "r2")


def test_a_run_that_could_not_be_swept_keeps_its_masters_job_and_stays_known_as_left_behind() -> None:
    names = {f"{ref.api_path.split('/')[-2]}/{ref.name}" for ref in swept(TO_MANAGED.test, "r1")}
    api = PlayedObjects({name: {"metadata": {}} for name in names}, {("DELETE", "secrets"): [500]})
    observations = Observations(orphans=("r1",))
    assert played(api, observations, lambda world: world.sweep(["r1"])) == [500]
    assert sorted(collections(api.there)) == ["jobs", "secrets"]
    assert observations.orphans == ("r1",)


def test_a_test_is_deleted_only_as_it_was_last_seen() -> None:
    api, newest = PlayedObjects({"sshloadtests/quickstart": {"metadata": METADATA}}), {"metadata": METADATA}
    played(api, Observations(), lambda world: world.delete_test(), newest=newest)
    assert api.sent[0]["preconditions"] == {"uid": TO_MANAGED.test.uid, "resourceVersion": "7"}
    assert not api.there
    played(api, Observations(), lambda world: world.delete_test(), newest=None)
    assert len(api.asked) == 1


def test_the_status_of_a_test_that_is_gone_is_not_written() -> None:
    api = PlayedObjects()
    assert played(api, Observations(), lambda world: world.write_status({}), newest=None) == [False]
    assert not api.asked
    api.refuses = {("PATCH", "sshloadtests"): [404, 500]}

    async def twice(world: ClusterWorld) -> tuple[bool, bool]:
        return await world.write_status({}), await world.write_status({})

    assert played(api, Observations(), twice, newest={"metadata": METADATA}) == [(False, False)]
    assert len(api.asked) == 1


def test_the_newest_version_of_a_test_is_the_answer_to_its_last_status() -> None:
    async def write(world: ClusterWorld) -> Any:
        assert await world.write_status({"run": 2})
        return world.newest

    api = PlayedObjects({"sshloadtests/quickstart": {"metadata": METADATA}})
    (newest,) = played(api, Observations(failed_writes=3), write, newest={"metadata": METADATA})
    assert newest["status"] == {"run": 2}


def test_an_event_is_of_the_run_that_it_is_about() -> None:
    said = Announcement(Reason.LOAD_RUNNING, "the load runs", warning=False)

    async def twice(world: ClusterWorld) -> None:
        await world.announce((said,))
        world.occasion = "2"
        await world.announce((said,))

    api = PlayedObjects()
    played(api, Observations(), twice)
    assert len(set(api.names("POST"))) == 2
    assert [one["involvedObject"]["uid"] for one in api.sent] == [TO_MANAGED.test.uid] * 2
