"""Kubernetes Events about an object of ours, as `kubectl describe` shows them."""

import hashlib
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sshload_contract.shortened import shortened

from sshload_operator.api.inert_text import printable
from sshload_operator.api.kinds import API_VERSION, Kind
from sshload_operator.api.names import extended
from sshload_operator.control.api_server.cluster import Cluster, collection_path
from sshload_operator.control.api_server.errors import ApiError
from sshload_operator.state import Announcement, Manifest

_LOG = logging.getLogger(__name__)
_COMPONENT = "sshload-operator"
_MESSAGE_LIMIT_CHARACTERS = 1000
_DIGEST_CHARACTERS = 12


@dataclass(frozen=True, slots=True)
class About:
    """The object of an Event, and the occasion for which it is created once: a test's run or a schedule's time."""

    kind: Kind
    namespace: str
    name: str
    uid: str
    occasion: str


def event(about: About, announcement: Announcement, now: datetime) -> Manifest:
    """Return the Event to be created for an announcement.

    Its name contains a hash of the object, the occasion and the text, so that an operator that was killed after
    creating it does not create it twice.
    """
    time = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    said = f"{about.uid}/{about.occasion}/{announcement.reason}/{announcement.message}"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": extended(about.name, f".{hashlib.sha256(said.encode()).hexdigest()[:_DIGEST_CHARACTERS]}"),
            "namespace": about.namespace,
        },
        "involvedObject": {
            "apiVersion": API_VERSION,
            "kind": about.kind.name,
            "namespace": about.namespace,
            "name": about.name,
            "uid": about.uid,
        },
        "type": "Warning" if announcement.warning else "Normal",
        "reason": str(announcement.reason),
        "message": shortened(printable(announcement.message), _MESSAGE_LIMIT_CHARACTERS),
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
        "source": {"component": _COMPONENT},
        "reportingComponent": _COMPONENT,
    }


async def announce(cluster: Cluster, about: About, announcements: Iterable[Announcement], now: datetime) -> None:
    """Create the Events. A failure is only logged, because nothing depends on an Event."""
    for announcement in announcements:
        manifest = event(about, announcement, now)
        path = f"{collection_path('v1', about.namespace, 'events')}/{manifest['metadata']['name']}"
        try:
            await cluster.create(path, manifest)
        except ApiError as error:
            reason = announcement.reason
            _LOG.warning("%s/%s: event %s was not recorded: %s", about.namespace, about.name, reason, error)
