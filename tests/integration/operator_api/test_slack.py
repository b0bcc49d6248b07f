"""A message at the end of each run reaches a real receiver, beside the webhook's event, and its URL stays secret."""

import json
from pathlib import Path

from live_cluster import LiveCluster, load_test
from operator_process import OperatorProcess
from running_target import wait_until
from webhook_receiver import PATH, key_folder, webhook_receiver


def test_an_end_is_told_once_on_each_channel(cluster: LiveCluster, operator: OperatorProcess, tmp_path: Path) -> None:
    key_folder(tmp_path)
    slack = tmp_path / "slack"
    slack.mkdir()
    with webhook_receiver() as events, webhook_receiver() as people:
        (slack / "url").write_text(f"{people.url}\n", encoding="utf-8")
        operator.more_of_installation = (
            "channels:\n"
            f"  webhook: {{url: '{events.url}', events: [test]}}\n"
            "  slack: {events: [test], pagesUrl: 'https://sshload.example.com'}\n"
        )
        operator.more_arguments = [f"--channel-secrets={tmp_path}"]
        people.answers = [429]
        operator.start()
        cluster.apply(load_test("told", abort=True))
        cluster.finished("told")

        def is_noted() -> bool:
            annotations = cluster.get("sshloadtest", "told")["metadata"].get("annotations", {})
            return {f"sshload.dev/notified-{channel}" for channel in ("webhook", "slack")} <= set(annotations)

        wait_until(is_noted, "the notes of both deliveries")
        operator.stop()
        assert [found.answered for found in people.received] == [429, 204]
        assert len(events.received) == 1
    text = json.loads(people.received[-1].body)["text"]
    assert text.splitlines()[0] == f"*Aborted*: test `{cluster.namespace}/told`"
    assert text.splitlines()[-1] == f"<https://sshload.example.com/ui/{cluster.namespace}/tests/told|Report>"
    assert PATH not in operator.logs()
    assert str(people.port) not in operator.logs()
