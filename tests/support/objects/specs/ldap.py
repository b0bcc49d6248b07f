"""A target whose accounts are in LDAP, with each field that it may have."""

from specs.small import SMALL
from specs.spec import Spec

MANAGED_LDAP: Spec = {
    **SMALL,
    "target": {
        "managed": {
            "system": {
                "users": 50,
                "ldap": {
                    "cache": "warm",
                    "entryCacheTimeout": "10m0s",
                    "searchTimeout": "20s",
                    "offlineTimeout": "5s",
                    "pamInitgroupsScheme": "never",
                    "pause": {"after": "1s", "for": "500ms"},
                    "logOperations": True,
                },
            }
        }
    },
}
