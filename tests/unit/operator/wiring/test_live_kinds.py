"""Who hears of which watch event, who forgets what a list lacks, and that nothing goes on after the end."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from plans import INSTALLATION
from played_api import played_cluster
from played_objects import PlayedObjects
from sim_comparison import comparison_spec
from specs.small import SMALL
from sshload_operator.api.kinds import API_VERSION, COMPARISON, KINDS, SCHEDULE, TEST, Kind
from sshload_operator.control.api_server.cluster import Cluster
from sshload_operator.control.api_server.watch_session import Listed
from sshload_operator.control.channels.channel import Sender
from sshload_operator.control.channels.deliveries import Counts, Deliveries
from sshload_operator.control.channels.ends import EndEvent
from sshload_operator.control.channels.webhook import Webhook
from sshload_operator.control.live.kinds import ComparisonKind, LiveKinds, ScheduleKind
from sshload_operator.control.metrics.server import OperatorMetrics
from sshload_operator.decision.life_cycle import decide
from sshload_operator.manifests.labels import SCHEDULE_LABEL
from until import until
from webhook_receiver import Receiver, key_folder, webhook_receiver

JUST_NOW = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
LONG_AGO = f"{datetime.now(UTC) - timedelta(days=730):%Y-%m-%dT%H:%M:%SZ}"
ENDED = {"phase": "Finished", "run": 1, "observedGeneration": 1, "verdict": "Passed", "completionTime": JUST_NOW}
SPECS: dict[Kind, dict[str, Any]] = {
    TEST: SMALL,
    SCHEDULE: {"schedule": "0 0 1 1 *", "suspend": True, "testTemplate": {"spec": SMALL}},
    COMPARISON: comparison_spec(),
}


def an_object(kind: Kind, name: str = "one", status: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    known = {"namespace": "ns", "name": name, "uid": f"uid-of-{name}", "resourceVersion": "7", "generation": 1}
    return {
        "apiVersion": API_VERSION,
        "kind": kind.name,
        "metadata": {**known, "creationTimestamp": LONG_AGO, **metadata},
        "spec": SPECS[kind],
        **({} if status is None else {"status": status}),
    }


@asynccontextmanager
async def playing(
    metrics: OperatorMetrics,
    deliveries: Callable[[Cluster], Sequence[Deliveries]],
    *there: tuple[Kind, dict[str, Any]],
    refused: int = 0,
) -> AsyncIterator[LiveKinds]:
    """Play an API server that has these objects and refuses so many writes of each kind; yield what works on them."""
    api = PlayedObjects({f"{kind.plural}/{body['metadata']['name']}": body for kind, body in there})
    api.refuses = {(method, kind.plural): [403] * refused for method in ("PATCH", "POST") for kind in KINDS}
    async with played_cluster(api.answer) as cluster:
        kinds = LiveKinds(cluster, INSTALLATION, metrics, deliveries(cluster))
        try:
            yield kinds
        finally:
            await kinds.stop()


def tell(kinds: LiveKinds, kind: Kind, event: str, body: dict[str, Any]) -> None:
    if kind is TEST:
        kinds.test_changed(event, body)
    else:
        kinds.owner_changed(kind.plural, event, body)


def published(metrics: OperatorMetrics) -> str:
    return b"".join(metrics.render()).decode()


def test_metrics_are_of_what_the_watch_tells_of_until_a_list_of_that_kind_lacks_it() -> None:
    metrics = OperatorMetrics()

    async def play() -> None:
        async with playing(metrics, lambda _: ()) as kinds:
            kinds.test_changed("ADDED", an_object(TEST, "kept", ENDED))
            kinds.test_changed("ADDED", an_object(TEST, "lost", ENDED))
            kinds.owner_changed(SCHEDULE.plural, "ADDED", an_object(SCHEDULE, "nightly"))
            assert all(f'"{name}"' in published(metrics) for name in ("kept", "lost", "nightly"))
            kinds.listed(Listed(TEST.plural, None, frozenset({("ns", "kept")})))
            assert '"lost"' not in published(metrics)
            assert all(f'"{name}"' in published(metrics) for name in ("kept", "nightly"))
            kinds.listed(Listed(SCHEDULE.plural, None, frozenset()))
            assert '"nightly"' not in published(metrics)
            assert '"kept"' in published(metrics)

    asyncio.run(play())


def worked_on() -> set[str]:
    """Return the names of the objects that are worked on."""
    return {name for task in asyncio.all_tasks() if (name := task.get_name()).startswith("ns/")}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.word)
def test_work_on_an_object_ends_where_a_list_of_its_kind_lacks_it_and_with_everything(kind: Kind) -> None:
    async def play() -> None:
        there = [(kind, an_object(kind, name)) for name in ("kept", "lost")]
        # An owner whose pass has ended well rests without a task: here each pass fails, and is tried again.
        async with playing(OperatorMetrics(), lambda _: (), *there, refused=1_000) as kinds:
            for _, body in there:
                tell(kinds, kind, "ADDED", body)
            assert worked_on() == {"ns/kept", "ns/lost"}
            for other in set(KINDS) - {kind}:
                kinds.listed(Listed(other.plural, None, frozenset()))
            await asyncio.sleep(0)
            assert worked_on() == {"ns/kept", "ns/lost"}
            kinds.listed(Listed(kind.plural, None, frozenset({("ns", "kept")})))
            await until(lambda: worked_on() == {"ns/kept"})
            await kinds.stop()
            assert not worked_on()

    asyncio.run(play())


def test_a_schedule_hears_at_once_of_a_test_of_its_own() -> None:
    schedule = an_object(SCHEDULE, "nightly")
    controller = {"kind": SCHEDULE.name, "name": "nightly", "uid": "uid-of-nightly", "controller": True}
    made = an_object(TEST, "made", labels={SCHEDULE_LABEL: "nightly"}, ownerReferences=[controller])

    async def play() -> None:
        async with playing(OperatorMetrics(), lambda _: (), (SCHEDULE, schedule), (TEST, made)) as kinds:
            kinds.owner_changed(SCHEDULE.plural, "ADDED", schedule)
            await until(lambda: "status" in schedule and "ns/nightly" not in worked_on())
            kinds.test_changed("ADDED", made)
            await until(lambda: bool(schedule["status"].get("active")))

    asyncio.run(play())
    assert [one["name"] for one in schedule["status"]["active"]] == ["made"]


def webhook(url: str, folder: Path) -> Callable[[Cluster], Sequence[Deliveries]]:
    """Return deliveries of the ends of all runs."""
    asked = Webhook(url=url, events=tuple(EndEvent), max_age_s=3_600.0)
    counts = Counts(lambda *_: None, lambda _: ())
    return lambda cluster: [Deliveries(cluster, "webhook", asked, Sender(asked, key_folder(folder)), (), counts)]


def test_the_webhook_hears_of_the_ends_of_tests_and_comparisons_and_of_no_schedule(tmp_path: Path) -> None:
    ends = {kind: an_object(kind, kind.word, ENDED) for kind in KINDS}

    def heard(receiver: Receiver) -> set[str]:
        return {found.event["data"]["name"] for found in receiver.received}

    async def play(receiver: Receiver) -> None:
        there = tuple(ends.items())
        async with playing(OperatorMetrics(), webhook(receiver.url, tmp_path), *there) as kinds:
            tell(kinds, SCHEDULE, "ADDED", ends[SCHEDULE])
            tell(kinds, TEST, "ADDED", ends[TEST])
            tell(kinds, COMPARISON, "ADDED", ends[COMPARISON])
            await until(lambda: not [task for task in asyncio.all_tasks() if task.get_name().startswith("webhook ")])

    with webhook_receiver() as receiver:
        asyncio.run(play(receiver))
        assert heard(receiver) == {TEST.word, COMPARISON.word}


def test_a_delivery_that_nobody_takes_ends_with_the_operator(tmp_path: Path) -> None:
    async def play(receiver: Receiver) -> None:
        test = an_object(TEST, status=ENDED)
        async with playing(OperatorMetrics(), webhook(receiver.url, tmp_path), (TEST, test)) as kinds:
            kinds.test_changed("ADDED", test)
            await until(lambda: bool(receiver.received))
            await kinds.stop()
            assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("webhook ")]

    with webhook_receiver() as receiver:
        receiver.answer = 503
        asyncio.run(play(receiver))


@pytest.mark.parametrize("kind", [ScheduleKind(), ComparisonKind(INSTALLATION)], ids=lambda found: found.kind.word)
@pytest.mark.parametrize(
    ("changes", "says"),
    [
        pytest.param({"metadata": {"deletionTimestamp": JUST_NOW}}, "was deleted", id="being deleted"),
        pytest.param({"spec": {"testTemplate": 5, "base": 5}}, "spec", id="not readable"),
    ],
)
def test_an_owner_that_is_being_deleted_or_cannot_be_read_makes_no_test_and_says_why(
    kind: Any, changes: dict[str, Any], says: str
) -> None:
    body = an_object(kind.kind, **changes.get("metadata", {}))
    body["spec"] = {**body["spec"], "suspend": False, **changes.get("spec", {})} if "spec" in changes else body["spec"]
    decision = decide(kind.subject(body))
    assert decision.create is None
    assert decision.status is not None
    assert says in json.dumps(decision.status)


@pytest.mark.parametrize("kind", [ScheduleKind(), ComparisonKind(INSTALLATION)], ids=lambda found: found.kind.word)
def test_an_owner_sees_the_end_of_its_test(kind: Any) -> None:
    assert [kind.facts(an_object(TEST, status=status)).verdict for status in (None, ENDED)] == [None, "Passed"]
