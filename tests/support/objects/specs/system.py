"""A target as its distribution has it, with each field that it may have."""

from specs.small import SMALL
from specs.spec import Spec

MANAGED_SYSTEM: Spec = {
    **SMALL,
    "target": {
        "managed": {
            "system": {
                "users": 5000,
                "pam": {
                    "motd": False,
                    "lastlog": True,
                    "limits": True,
                    "env": False,
                    "mail": False,
                    "nologin": True,
                    "loginuid": False,
                    "keyinit": False,
                    "systemd": False,
                    "selinux": False,
                },
                "maxLogins": 4,
                "userNamespace": True,
            }
        }
    },
    "client": {"auth": "password"},
}
