"""The SSHLoadTest of one scheduled time."""

from datetime import datetime

from sshload_operator.api.kinds import API_VERSION, SCHEDULE, TEST
from sshload_operator.api.schedule.spec import ScheduleSpec
from sshload_operator.decision.schedule.facts import (
    SCHEDULE_LABEL,
    SCHEDULED_ANNOTATION,
    ScheduleIdentity,
    child_name,
)
from sshload_operator.state import Manifest


def child(schedule: ScheduleIdentity, spec: ScheduleSpec, time: datetime) -> Manifest:
    """Return the test to be created: the template's, with the schedule as its controller."""
    return {
        "apiVersion": API_VERSION,
        "kind": TEST.name,
        "metadata": {
            "name": child_name(schedule.name, time),
            "namespace": schedule.namespace,
            "labels": {**spec.template.labels, SCHEDULE_LABEL: schedule.name},
            "annotations": {
                **spec.template.annotations,
                SCHEDULED_ANNOTATION: time.astimezone(spec.zone).isoformat(),
            },
            "ownerReferences": [
                {
                    "apiVersion": API_VERSION,
                    "kind": SCHEDULE.name,
                    "name": schedule.name,
                    "uid": schedule.uid,
                    "controller": True,
                    "blockOwnerDeletion": False,
                }
            ],
        },
        "spec": spec.template.spec,
    }
