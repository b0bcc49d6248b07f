"""SSHLoadTest specs for logins by Kerberos: at a server that exists, and at a target with a KDC of its own."""

from specs.spec import Spec

EXTERNAL_TICKETS: Spec = {
    "target": {
        "external": {
            "host": "bastion.example.com",
            "user": "probe",
            "credentialsSecretRef": {"name": "bastion-credentials"},
            "ticketCache": True,
            "knownHostsSecretRef": {"name": "bastion-known-hosts"},
        }
    },
    "via": [
        {
            "host": "jump.example.com",
            "user": "jump",
            "auth": "gssapi",
            "credentialsSecretRef": {"name": "jump-credentials"},
            "ticketCache": False,
            "insecureIgnoreHostKey": True,
        }
    ],
    "client": {
        "auth": "gssapi",
        "library": "asyncssh",
        "kerberos": {
            "realms": [
                {"name": "EXAMPLE.COM", "kdcs": [{"host": "kdc.example.com"}, {"host": "192.0.2.9", "port": 8888}]},
                {"name": "OTHER.ORG", "kdcs": [{"host": "kdc.other.org"}], "domains": [".other.org", "b.example.com"]},
            ],
            "freshTickets": False,
        },
    },
    "scenario": {"steps": [{"exec": {"command": "true"}}]},
    "load": {"burst": {"connections": 5}},
}

MANAGED_KDC: Spec = {
    "target": {"managed": {"system": {"users": 20, "kerberos": {"ticketLifetime": "1h0m0s"}}}},
    "client": {"auth": "gssapi", "library": "openssh", "kerberos": {"freshTickets": True}},
    "scenario": {"steps": [{"exec": {"command": "true"}}]},
    "load": {"burst": {"connections": 5}},
}
