"""The knobs of a managed target's sshd."""

from typing import Any

from specs.bad import Bad, bad
from specs.small import SMALL
from specs.spec import Spec, changed


def _sshd(name: str, value: Any, says: str = "") -> Bad:
    return bad(f"target.managed.sshd.{name}", value, says=says)


BAD: dict[str, Bad] = {
    "block-size-of-no-address": _sshd("perSourceNetBlockSize", "33"),
    "max-startups-of-one-number": _sshd("maxStartups", "100"),
    "max-startups-as-a-number": _sshd("maxStartups", 100),
    "max-startups-in-words": _sshd("maxStartups", "many"),
    "max-startups-with-a-rate-above-100": _sshd("maxStartups", "10:101:100", "rate"),
    "max-startups-with-start-above-full": _sshd("maxStartups", "101:30:100", "start"),
    "max-sessions-of-zero": _sshd("maxSessions", 0),
    "per-source-max-startups-of-zero": _sshd("perSourceMaxStartups", 0),
    "per-source-max-startups-in-words": _sshd("perSourceMaxStartups", "few"),
    "unquoted-penalties": _sshd("perSourcePenalties", value=False),
    "penalties-in-words": _sshd("perSourcePenalties", "some of them"),
    "grace-time-in-milliseconds": _sshd("loginGraceTime", "1500ms"),
    "unquoted-compression": _sshd("compression", value=True),
    "log-level-that-hides-logins": _sshd("logLevel", "QUIET"),
    "algorithm-that-stands-twice": bad(
        "target.managed.sshd.ciphers", ["aes128-ctr", "aes128-ctr"], "spec.target.managed.sshd.ciphers[1]"
    ),
    "extra-directive-with-a-line-break": bad(
        "target.managed.sshd.extraConfig", {"Banner": "none\nPort 22"}, "spec.target.managed.sshd.extraConfig.Banner"
    ),
    "extra-directive-with-no-name": _sshd("extraConfig", {"no such": "x"}, "sshd_config(5)"),
    "extra-directive-that-has-a-field": _sshd("extraConfig", {"MaxSessions": "9"}, "MaxSessions is not for"),
    "extra-directive-that-asks-pam": _sshd(
        "extraConfig",
        {"UsePAM": "yes"},
        "UsePAM is not for extraConfig: sshd runs as root and with PAM where target.managed.system is set",
    ),
    "extra-directive-that-moves-the-port": _sshd("extraConfig", {"pOrT": "22"}, "pOrT is not for extraConfig"),
    "extra-directive-that-trusts-another-authority": _sshd(
        "extraConfig", {"TrustedUserCAKeys": "/x"}, "TrustedUserCAKeys is not for extraConfig"
    ),
}

GOOD: dict[str, Spec] = {
    "no-penalty": changed(SMALL, "target.managed.sshd.perSourcePenalties", "yes"),
    "no-limit-per-source": changed(SMALL, "target.managed.sshd.perSourceMaxStartups", "none"),
    "no-grace-limit": changed(SMALL, "target.managed.sshd.loginGraceTime", "0s"),
}
