"""All that an installer can permit tests to add to their pods."""

from specs.spec import Spec

EVERYTHING: Spec = {
    "env": [
        {"name": "STAGE", "value": "production"},
        {"name": "empty", "value": ""},
        {"name": "REGION", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "region"}}},
    ],
    "labels": {"team": "ssh", "example.com/cost-center": "4711", "empty": ""},
    "annotations": {"example.com/note": "any text, \u00e9 too", "note": ""},
    "serviceAccountName": "load",
    "runtimeClassName": "gvisor",
    "volumes": [
        {"mountPath": "/mnt/settings", "configMap": {"name": "settings"}},
        {"mountPath": "/mnt/login", "readOnly": True, "secret": {"secretName": "login"}},
        {"mountPath": "/mnt/data/in", "readOnly": True, "persistentVolumeClaim": {"claimName": "data"}},
        {"mountPath": "/mnt/data/out", "emptyDir": {"sizeLimit": "1Gi"}},
    ],
}
