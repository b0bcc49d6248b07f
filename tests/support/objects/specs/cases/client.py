"""How the workers speak SSH: settings of the client, and what each library makes of them."""

from typing import Any

from specs.bad import Bad, bad
from specs.external import EXTERNAL_BURST
from specs.small import SMALL, with_steps
from specs.spec import Spec, changed


def _setting(library: str, name: str, value: Any, says: str = "") -> Bad:
    """Return a setting of the client that this library does not take."""
    return Bad(changed(SMALL, "client", {"library": library, name: value}), f"spec.client.{name}", says)


def _certificates(name: str, value: Any, at: str = "", **beside: Any) -> Bad:
    """Return certificates that the workers cannot sign; the fault is at the field of this name."""
    client = {"auth": "certificate", "certificates": {name: value, **beside}}
    return Bad(changed(SMALL, "client", client), f"spec.client.certificates.{at or name}", "")


def _prompts(*prompts: Spec, at: str = "prompts", says: str = "", **client: Any) -> Bad:
    """Return answers to prompts of an external target that are refused."""
    return bad("client", {"prompts": list(prompts), **client}, f"spec.client.{at}", base=EXTERNAL_BURST, says=says)


_CODE: Spec = {"match": "code", "answer": "totp"}

BAD: dict[str, Bad] = {
    "prompts-of-openssh": _prompts(_CODE, library="openssh", says="ssh2-python, paramiko and asyncssh answer prompts"),
    "prompts-of-mina-sshd": _prompts(_CODE, library="mina-sshd"),
    "prompts-of-a-target-without-pam": bad("client", {"prompts": [_CODE]}, "spec.client.prompts"),
    "prompt-that-is-no-expression": _prompts({**_CODE, "match": "(code"}, at="prompts[0].match"),
    "prompt-with-a-look-ahead": _prompts({**_CODE, "match": "code(?=x)"}, at="prompts[0].match"),
    "prompt-of-nothing": _prompts({**_CODE, "match": ""}, at="prompts[0].match"),
    "answer-of-another-kind": _prompts({"match": "a", "answer": "key"}, at="prompts[0].answer"),
    "answer-by-a-text-without-one": _prompts({"match": "a", "answer": "text"}, at="prompts[0].text"),
    "text-beside-another-answer": _prompts({**_CODE, "text": "1"}, at="prompts[0].text"),
    "codes-that-answer-nothing": bad("client", {"totp": {}}, "spec.client.totp", base=EXTERNAL_BURST),
    "codes-of-nine-digits": _prompts(_CODE, totp={"digits": 9}, at="totp.digits"),
    "codes-of-five-seconds": _prompts(_CODE, totp={"period": "5s"}, at="totp.period"),
    "threshold-on-a-part-of-a-plain-login": bad(
        "thresholds",
        [{"latency": {"step": "auth.publickey", "percentile": 50, "below": "1s"}}],
        "spec.thresholds",
        base=EXTERNAL_BURST,
    ),
    "unknown-library": bad("client.library", "libssh"),
    "unknown-auth": bad("client.auth", "gssapi-with-mic"),
    "algorithm-with-a-comma": bad("client.ciphers", ["a,b"], "spec.client.ciphers[0]"),
    "tickets-of-ssh2-python": bad("client.auth", "gssapi", says="asyncssh or openssh"),
    "tickets-of-a-target-without-a-kdc": bad("client", {"library": "asyncssh", "auth": "gssapi"}, "spec.client.auth"),
    "realm-for-a-managed-target": bad(
        "client", {"kerberos": {"realms": [{"name": "A", "kdcs": [{"host": "a"}]}]}}, "spec.client.kerberos.realms"
    ),
    "realm-without-a-kdc": bad(
        "client", {"kerberos": {"realms": [{"name": "A", "kdcs": []}]}}, "spec.client.kerberos.realms[0].kdcs"
    ),
    "realm-of-two-lines": bad(
        "client",
        {"kerberos": {"realms": [{"name": "A\nB", "kdcs": [{"host": "a"}]}]}},
        "spec.client.kerberos.realms[0].name",
    ),
    "window-of-zero": bad("client.windowSize", 0),
    "window-of-4-gibibytes": bad("client.windowSize", "4Gi", says="from 32Ki to 1Gi"),
    "window-in-words": bad("client.windowSize", "large"),
    "read-buffer-of-asyncssh": _setting("asyncssh", "readBufferSize", "32Ki"),
    "window-for-sftp-of-ssh2-python": bad("client.windowSize", "1Mi", base=with_steps({"sftpStat": {"path": "a"}})),
    "packet-for-sftp-of-ssh2-python": bad("client.packetSize", "32Ki", base=with_steps({"sftpRead": {"path": "a"}})),
    "packet-that-libssh2-would-not-take": _setting("ssh2-python", "packetSize", 32769, "32Ki"),
    "read-buffer-beyond-libssh2": _setting("ssh2-python", "readBufferSize", "17Mi", "16Mi"),
    "sftp-read-beyond-libssh2": _setting("ssh2-python", "sftpReadSize", "17Mi", "16Mi"),
    "sftp-write-beyond-libssh2": _setting("ssh2-python", "sftpWriteSize", "17Mi", "16Mi"),
    "sftp-read-beyond-paramiko": _setting("paramiko", "sftpReadSize", "256Ki", "255Ki"),
    "rekey-limit-of-ssh2-python": _setting("ssh2-python", "rekeyLimit", "1Gi"),
    "packet-that-paramiko-would-enlarge": _setting("paramiko", "packetSize", 4095, "4Ki"),
    "packet-above-a-mebibyte": _setting("asyncssh", "packetSize", "2Mi"),
    "rekey-limit-of-zero": _setting("paramiko", "rekeyLimit", 0),
    "sftp-read-of-zero": bad("client.sftpReadSize", 0),
    "sftp-write-above-64-mebibytes": bad("client.sftpWriteSize", "65Mi"),
    "read-buffer-below-a-kibibyte": bad("client.readBufferSize", 1023),
    "control-master-of-another-library": bad("client.controlMaster", value=True),
    "window-of-openssh": _setting("openssh", "windowSize", "1Mi"),
    "packet-of-openssh": _setting("openssh", "packetSize", "32Ki"),
    "read-buffer-of-mina-sshd": _setting("mina-sshd", "readBufferSize", "32Ki"),
    "delay-of-mina-sshd": _setting("mina-sshd", "networkDelay", "10ms"),
    "certificate-of-mina-sshd": _setting("mina-sshd", "auth", "certificate"),
    "shell-of-mina-sshd": bad(
        "client.library", "mina-sshd", "spec.scenario", base=with_steps({"shell": {"send": "a", "expect": "a"}})
    ),
    "scp-of-mina-sshd": bad(
        "client.library", "mina-sshd", "spec.scenario", base=with_steps({"scpRead": {"path": "a"}})
    ),
    "delay-of-openssh": _setting("openssh", "networkDelay", "10ms"),
    "delay-of-six-seconds": bad("client.networkDelay", "6s", says="5s"),
    "read-buffer-of-openssh": _setting("openssh", "readBufferSize", "32Ki"),
    "extra-keys-of-mina-sshd": _setting("mina-sshd", "extraKeys", 3),
    "no-extra-keys": bad("client.extraKeys", 0),
    "extra-keys-of-a-password": bad(
        "client", {"auth": "password", "extraKeys": 3}, "spec.client.extraKeys", base=EXTERNAL_BURST
    ),
    "extra-keys-after-a-certificate-of-openssh": bad(
        "client", {"library": "openssh", "auth": "certificate", "extraKeys": 3}, "spec.client.extraKeys"
    ),
    "certificates-of-a-key": bad("client.certificates", {}, says="is for auth certificate only"),
    "certificates-renewed-before-they-are-signed": _certificates("renewBefore", "1m", lifetime="1m"),
    "certificates-renewed-and-not": _certificates("renewBefore", "20s", renew=False),
    "certificates-of-four-seconds": _certificates("lifetime", "4s"),
    "certificates-of-half-seconds": _certificates("lifetime", "10500ms"),
    "certificates-for-a-principal-with-a-comma": _certificates("principals", ["a,b"], "principals[0]"),
    "certificates-for-a-principal-twice": _certificates("principals", ["a", "a"]),
    "certificates-with-an-extension-in-two-words": _certificates("extensions", ["permit pty"], "extensions[0]"),
    "certificates-of-an-authority-of-another-s": _certificates("ca", {"secretRef": {"name": "authority"}}),
    "certificates-of-no-authority": bad(
        "client", {"auth": "certificate", "certificates": {}}, "spec.client.certificates.ca", base=EXTERNAL_BURST
    ),
}

GOOD: dict[str, Spec] = {
    "prompts-after-a-password": changed(
        EXTERNAL_BURST, "client", {"auth": "password", "library": "paramiko", "prompts": [_CODE]}
    ),
    "threshold-on-the-verdict-of-prompts": changed(
        changed(EXTERNAL_BURST, "client", {"auth": "keyboard-interactive"}),
        "thresholds",
        [{"latency": {"step": "auth.verdict", "percentile": 50, "below": "1s"}}],
    ),
    "window-of-a-gibibyte": changed(SMALL, "client.windowSize", "1Gi"),
    "window-of-32-kibibytes": changed(SMALL, "client.windowSize", 32768),
    "window-for-scp-of-ssh2-python": changed(with_steps({"scpRead": {"path": "a"}}), "client.windowSize", "1Mi"),
    "window-for-sftp-of-paramiko": changed(
        with_steps({"sftpRead": {"path": "a"}}), "client", {"library": "paramiko", "windowSize": "1Mi"}
    ),
    "the-largest-packet-of-ssh2-python": changed(SMALL, "client.packetSize", "32Ki"),
    "the-smallest-packet-of-paramiko": changed(SMALL, "client", {"library": "paramiko", "packetSize": "4Ki"}),
    "the-largest-sizes-of-asyncssh": changed(
        SMALL, "client", {"library": "asyncssh", "packetSize": "1Mi", "sftpReadSize": "64Mi", "sftpWriteSize": "64Mi"}
    ),
    "sftp-of-mina-sshd": changed(with_steps({"sftpRead": {"path": "a"}}), "client.library", "mina-sshd"),
    "window-of-mina-sshd": changed(SMALL, "client", {"library": "mina-sshd", "windowSize": "8Mi"}),
    "delay-of-asyncssh": changed(SMALL, "client", {"library": "asyncssh", "networkDelay": "5s"}),
    "no-delay-of-openssh": changed(SMALL, "client", {"library": "openssh", "networkDelay": "0s"}),
    "slow-acknowledgements-of-openssh": changed(SMALL, "client", {"library": "openssh", "quickAck": False}),
    "extra-keys-of-an-agent-of-openssh": changed(
        SMALL, "client", {"library": "openssh", "auth": "agent", "extraKeys": 50}
    ),
    "certificates-of-five-seconds": changed(
        SMALL, "client", {"auth": "certificate", "certificates": {"lifetime": "5s", "renewBefore": "4s"}}
    ),
    "certificates-that-are-not-renewed": changed(
        SMALL,
        "client",
        {
            "auth": "certificate",
            "certificates": {"renew": False, "principals": ["ops", "team-{user}"], "extensions": ["permit-pty"]},
        },
    ),
    "certificates-of-the-author-s-authority": changed(
        EXTERNAL_BURST,
        "client",
        {"auth": "certificate", "certificates": {"ca": {"secretRef": {"name": "authority"}, "encryptedKey": True}}},
    ),
}
