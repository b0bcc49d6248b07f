"""When a test is run again, ended and deleted."""

from specs.bad import Bad, bad
from specs.small import SMALL
from specs.spec import Spec, changed

BAD: dict[str, Bad] = {
    "ttl-for-a-verdict-without-one": bad("ttlAfterFinished.aborted", "1h"),
    "abort-as-text": bad("abort", "true"),
    "login-before-load-as-text": bad("loginBeforeLoad", "no"),
    "trigger-without-a-name": bad("triggers", "10.2p1"),
    "trigger-as-number": bad("triggers.server", 10.2),
    "trigger-of-254-characters": bad("triggers.server", "x" * 254),
    "twenty-one-triggers": bad("triggers", {f"trigger-{number}": "" for number in range(21)}),
}

GOOD: dict[str, Spec] = {
    "triggers-of-any-kind": changed(SMALL, "triggers", {"server": "10.2p1, é", "a b/c": "", "": "x" * 253}),
    "no-login-before-the-load": changed(SMALL, "loginBeforeLoad", False),
    "forever-after": changed(SMALL, "ttlAfterFinished", {}),
}
