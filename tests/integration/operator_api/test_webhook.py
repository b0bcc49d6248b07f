"""The end of each run reaches a real receiver of webhooks at least once, whatever befalls receiver and operator."""

import base64
import hashlib
import hmac
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from api_proxy import ApiProxy, Write
from live_cluster import LiveCluster, load_test
from operator_process import OperatorProcess
from running_target import wait_until
from webhook_receiver import KEY, PATH, Received, Receiver, key_folder, webhook_receiver

NOTIFIED = "sshload.dev/notified-webhook"
FIELDS = ("run", "verdict", "reason", "message", "startTime", "completionTime")


@pytest.fixture(name="receiver")
def _receiver() -> Iterator[Receiver]:
    with webhook_receiver() as receiver:
        yield receiver


@pytest.fixture(name="operator")
def _operator(operator: OperatorProcess, receiver: Receiver, tmp_path: Path) -> OperatorProcess:
    """Return an operator, not yet started, that posts the ends of all runs."""
    return posts_to(operator, receiver, tmp_path)


def posts_to(operator: OperatorProcess, receiver: Receiver, folder: Path) -> OperatorProcess:
    """Let an operator post to a receiver."""
    operator.more_of_installation = (
        f"channels:\n  webhook:\n    url: {receiver.url}\n    events: [test, schedule, comparison]\n"
    )
    operator.more_arguments = [f"--channel-secrets={key_folder(folder).parent}"]
    return operator


def end_a_run(cluster: LiveCluster, name: str) -> None:
    """Let a test come to its end at once, without pods."""
    cluster.apply(load_test(name, abort=True))
    cluster.finished(name)


def marked(cluster: LiveCluster, name: str) -> str:
    """Return which end of a test is noted as delivered."""
    found: str = cluster.get("sshloadtest", name)["metadata"].get("annotations", {}).get(NOTIFIED, "")
    return found


def attempts(operator: OperatorProcess, outcome: str) -> float:
    """Return how many attempts ended so."""
    found = re.search(
        rf'^sshload_operator_notifications_total{{channel="webhook",outcome="{outcome}"}} (\S+)$',
        operator.metrics(),
        re.MULTILINE,
    )
    assert found is not None
    return float(found[1])


def is_pending(operator: OperatorProcess, count: int) -> bool:
    """Return whether so many ends wait for their delivery."""
    return f'sshload_operator_notifications_pending{{channel="webhook"}} {count}.0' in operator.metrics()


def signature(received: Received) -> str:
    """Return the signature that a receiver computes."""
    signed = f"{received.headers['webhook-id']}.{received.headers['webhook-timestamp']}.".encode() + received.body
    return f"v1,{base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()}"


def test_an_end_is_posted_once_as_a_signed_cloud_event(
    cluster: LiveCluster, operator: OperatorProcess, receiver: Receiver
) -> None:
    operator.start()
    end_a_run(cluster, "ended")
    (received,) = receiver.wait_until_taken("ended")
    test = cluster.get("sshloadtest", "ended")
    uid, status = test["metadata"]["uid"], test["status"]
    assert received.path == PATH
    assert received.headers["content-type"] == "application/cloudevents+json; charset=utf-8"
    assert received.headers["webhook-signature"] == signature(received)
    assert abs(time.time() - int(received.headers["webhook-timestamp"])) < 300
    assert received.event == {
        "specversion": "1.0",
        "id": f"{uid}/1/{status['completionTime']}",
        "source": f"/apis/sshload.dev/v1alpha1/namespaces/{cluster.namespace}/sshloadtests/ended",
        "type": "dev.sshload.test.ended",
        "time": status["completionTime"],
        "datacontenttype": "application/json",
        "data": {
            "kind": "SSHLoadTest",
            "namespace": cluster.namespace,
            "name": "ended",
            "uid": uid,
            **{name: status[name] for name in FIELDS if name in status},
        },
    }
    assert received.headers["webhook-id"] == received.event["id"]
    cluster.gone(lambda: marked(cluster, "ended") != received.event["id"], "lack of the note of the delivery")
    operator.stop()
    operator.start()
    end_a_run(cluster, "next")
    receiver.wait_until_taken("next")
    assert len(receiver.received) == 2
    cluster.gone(lambda: attempts(operator, "delivered") != 1, "lack of the count, which follows the answer")


def test_a_delivery_that_fails_is_made_again_until_it_is_taken(
    cluster: LiveCluster, operator: OperatorProcess, receiver: Receiver
) -> None:
    receiver.answers = [500, 429, 404]
    operator.start()
    end_a_run(cluster, "retried")
    receiver.wait_until_taken("retried")
    assert [found.answered for found in receiver.received] == [500, 429, 404, 204]
    assert len({found.event["id"] for found in receiver.received}) == 1
    assert all(found.headers["webhook-signature"] == signature(found) for found in receiver.received)
    cluster.gone(lambda: attempts(operator, "delivered") != 1, "lack of the count")
    assert attempts(operator, "refused") == 3
    assert PATH not in operator.logs()
    assert KEY.decode() not in operator.logs()


def test_a_receiver_that_hangs_holds_up_no_run_and_no_other_delivery(
    cluster: LiveCluster, operator: OperatorProcess, receiver: Receiver
) -> None:
    receiver.hangs = frozenset({"hung"})
    operator.start()
    end_a_run(cluster, "hung")
    wait_until(lambda: len(receiver.received) == 1, "the first delivery")
    end_a_run(cluster, "other")
    receiver.wait_until_taken("other")
    assert receiver.taken("hung") == []
    receiver.hangs = frozenset()
    receiver.wait_until_taken("hung")
    assert attempts(operator, "unreachable") >= 1


def test_a_slow_receiver_gets_each_end_once(
    cluster: LiveCluster, operator: OperatorProcess, receiver: Receiver
) -> None:
    receiver.delay_s = 2.0
    operator.start()
    names = [f"slow-{number}" for number in range(6)]
    for name in names:
        end_a_run(cluster, name)
    for name in names:
        receiver.wait_until_taken(name)
    cluster.gone(lambda: attempts(operator, "delivered") != len(names), "lack of deliveries")
    assert sorted(found.event["data"]["name"] for found in receiver.received) == names


def test_a_receiver_that_was_away_gets_what_it_missed(
    cluster: LiveCluster, operator: OperatorProcess, receiver: Receiver
) -> None:
    receiver.shut()
    operator.start()
    for name in ("one", "two"):
        end_a_run(cluster, name)
    cluster.gone(lambda: attempts(operator, "unreachable") < 2, "lack of attempts")
    cluster.gone(
        lambda: not is_pending(operator, 2),
        "lack of deliveries",
    )
    receiver.open()
    for name in ("one", "two"):
        receiver.wait_until_taken(name)
    cluster.gone(
        lambda: not is_pending(operator, 0),
        "pending deliveries",
    )


def test_an_operator_killed_between_the_verdict_and_its_delivery_delivers_it_when_it_is_back(
    cluster: LiveCluster, operator: OperatorProcess, receiver: Receiver
) -> None:
    receiver.shut()
    operator.start()
    end_a_run(cluster, "killed")
    operator.kill()
    operator.wait()
    assert marked(cluster, "killed") == ""
    receiver.open()
    operator.start()
    (received,) = receiver.wait_until_taken("killed")
    cluster.gone(lambda: marked(cluster, "killed") != received.event["id"], "lack of the note of the delivery")


def test_an_operator_killed_between_the_delivery_and_its_note_delivers_the_same_event_again(
    cluster: LiveCluster, operator: OperatorProcess, receiver: Receiver, proxy: ApiProxy
) -> None:
    def kill_at_note(write: Write) -> bool:
        is_note = "annotations" in (write.body or {}).get("metadata", {}) and NOTIFIED in str(write.body)
        if is_note:
            operator.kill()
        return is_note

    proxy.before = kill_at_note
    operator.start()
    end_a_run(cluster, "twice")
    receiver.wait_until_taken("twice")
    operator.wait()
    proxy.before = lambda _: False
    operator.start()
    first, second = receiver.wait_until_taken("twice", times=2)
    assert first.event == second.event


def test_a_redirect_is_not_followed(cluster: LiveCluster, operator: OperatorProcess, receiver: Receiver) -> None:
    receiver.answers = [307]
    receiver.location = f"http://127.0.0.1:{receiver.port}/elsewhere"
    operator.start()
    end_a_run(cluster, "redirected")
    receiver.wait_until_taken("redirected")
    assert {found.path for found in receiver.received} == {PATH}
    assert attempts(operator, "refused") == 1


def test_nothing_is_posted_of_another_namespace(
    cluster: LiveCluster, operator: OperatorProcess, receiver: Receiver
) -> None:
    operator.more_of_installation += "    namespaces: [another]\n"
    operator.start()
    end_a_run(cluster, "silent")
    assert is_pending(operator, 0)
    operator.stop()
    assert receiver.received == []


def test_the_end_of_a_test_that_is_deleted_at_once_is_posted(
    cluster: LiveCluster, operator: OperatorProcess, receiver: Receiver
) -> None:
    receiver.answers = [503]
    operator.start()
    end_a_run(cluster, "deleted")
    cluster.delete("sshloadtest", "deleted")
    receiver.wait_until_taken("deleted")
    assert "cannot note" not in operator.logs()


def test_the_end_of_a_comparison_is_posted_once_and_those_of_its_tests_are_not(
    cluster: LiveCluster, operator: OperatorProcess, receiver: Receiver
) -> None:
    operator.start()
    spec = {"base": load_test("any")["spec"], "variants": [{"name": "one"}, {"name": "two"}], "repeats": 1}
    cluster.apply({**load_test("compared"), "kind": "SSHLoadTestComparison", "spec": spec})
    cluster.gone(lambda: not cluster.exists("slt", "compared-1-one"), "lack of a test")
    cluster.change("sltc", "compared", {"spec": {"abort": True}})
    assert cluster.finished("compared-1-one")["verdict"] == "Aborted"
    (received,) = receiver.wait_until_taken("compared")
    assert received.event["type"] == "dev.sshload.comparison.ended"
    assert received.event["data"]["verdict"] == cluster.get("sltc", "compared")["status"]["verdict"]
    cluster.gone(
        lambda: (
            cluster.get("sltc", "compared")["metadata"].get("annotations", {}).get(NOTIFIED) != received.event["id"]
        ),
        "lack of the note of the delivery",
    )
    end_a_run(cluster, "next")
    receiver.wait_until_taken("next")
    assert {found.event["data"]["name"] for found in receiver.received} == {"compared", "next"}
