"""Kubernetes Events about a test, as `kubectl describe` shows them."""

import hashlib
from datetime import datetime

from sshload_operator.manifests.labels import API_VERSION, KIND
from sshload_operator.planning.plan import TestIdentity
from sshload_operator.state import Announcement, Manifest

_COMPONENT = "sshload-operator"
_MESSAGE_LIMIT_CHARACTERS = 1000
_DIGEST_CHARACTERS = 12


def event(test: TestIdentity, run: int, announcement: Announcement, now: datetime) -> Manifest:
    """Return the Event to be created for an announcement.

    Its name is made of the test, the run and what is said, so that an operator that was killed after saying it
    does not say it twice.
    """
    time = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    said = f"{test.uid}/{run}/{announcement.reason}/{announcement.message}"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{test.name}.{hashlib.sha256(said.encode()).hexdigest()[:_DIGEST_CHARACTERS]}",
            "namespace": test.namespace,
        },
        "involvedObject": {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "namespace": test.namespace,
            "name": test.name,
            "uid": test.uid,
        },
        "type": "Warning" if announcement.warning else "Normal",
        "reason": str(announcement.reason),
        "message": announcement.message[:_MESSAGE_LIMIT_CHARACTERS],
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
        "source": {"component": _COMPONENT},
        "reportingComponent": _COMPONENT,
    }
