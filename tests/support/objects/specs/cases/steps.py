"""The steps of a scenario: their kinds, their names and their fields."""

from hashlib import sha256

from specs.bad import Bad
from specs.small import with_steps
from specs.spec import Spec

_EMPTY_SHA256 = sha256().hexdigest()
_EXEC = {"exec": {"command": "uptime"}}
_NAMED = {"exec": {"command": "uptime", "name": "uptime"}}


def _step(kind: str, step: Spec, field: str) -> Bad:
    """Return one step of this kind; the refusal must name its `field`."""
    return Bad(with_steps({kind: step}), f"spec.scenario.steps[0].{kind}.{field}")


BAD: dict[str, Bad] = {
    "step-of-nothing": Bad(with_steps({}), "spec.scenario.steps[0]", "exactly one of exec, sftpRead"),
    "step-of-both": Bad(with_steps({**_EXEC, "sleep": "1s"}), "spec.scenario.steps[0]", "rsync and sleep must be"),
    "step-of-two-kinds": Bad(
        with_steps({"sftpStat": {"path": "a"}, "sftpRemove": {"path": "a"}}), "spec.scenario.steps[0]", "exactly one of"
    ),
    "exec-steps-without-names": Bad(with_steps(_EXEC, _NAMED), "spec.scenario.steps", "must have a name"),
    "exec-steps-of-one-name": Bad(with_steps(_NAMED, _NAMED), "spec.scenario.steps", "must differ"),
    "steps-of-two-kinds-without-names": Bad(
        with_steps(_NAMED, {"sftpStat": {"path": "a"}}), "spec.scenario.steps", "must have a name"
    ),
    "steps-of-two-kinds-with-one-name": Bad(
        with_steps(_NAMED, {"gitUploadPack": {"name": "uptime", "repository": "a"}}),
        "spec.scenario.steps",
        "must differ",
    ),
    "path-of-nothing": _step("sftpRead", {"path": ""}, "path"),
    "path-with-a-line-break": _step("scpWrite", {"path": "a\nb", "size": 1}, "path"),
    "path-that-is-missing": _step("sftpRemove", {}, "path"),
    "rename-to-nowhere": _step("sftpRename", {"path": "a"}, "to"),
    "mode-of-no-octal-digits": _step("sftpSetstat", {"path": "a", "mode": "0680"}, "mode"),
    "mode-that-is-a-number": _step("sftpSetstat", {"path": "a", "mode": 640}, "mode"),
    "link-to-nowhere": _step("sftpSymlink", {"path": "a"}, "to"),
    "digest-in-capitals": _step("sftpRead", {"path": "a", "expectSha256": _EMPTY_SHA256.upper()}, "expectSha256"),
    "digest-that-is-cut": _step("scpRead", {"path": "a", "expectSha256": _EMPTY_SHA256[1:]}, "expectSha256"),
    "size-of-no-unit": _step("sftpRead", {"path": "a", "expectSize": "1KB"}, "expectSize"),
    "size-below-zero": _step("sftpWrite", {"path": "a", "size": -1}, "size"),
    "size-that-is-too-large": _step("scpWrite", {"path": "a", "size": "101Gi"}, "size"),
    "unknown-verification": _step("sftpWrite", {"path": "a", "size": 1, "verify": "crc"}, "verify"),
    "entries-below-zero": _step("sftpList", {"path": "a", "expectEntries": -1}, "expectEntries"),
    "shell-that-says-nothing": _step("shell", {"send": "", "expect": "a"}, "send"),
    "shell-that-waits-for-nothing": _step("shell", {"send": "a"}, "expect"),
    "shell-without-a-turn": _step("shell", {"send": "a", "expect": "a", "repeat": 0}, "repeat"),
    "forward-to-port-zero": _step("forward", {"host": "a", "port": 0}, "port"),
    "forward-to-an-empty-label": _step("forward", {"host": "a..b", "port": 1}, "host"),
    "rsync-of-nothing": Bad(with_steps({"rsync": {}}), "spec.scenario.steps[0].rsync", "exactly one of"),
    "rsync-both-ways": Bad(
        with_steps({"rsync": {"download": {"path": "a"}, "upload": {"path": "a", "size": 1}}}),
        "spec.scenario.steps[0].rsync",
        "exactly one of",
    ),
    "rsync-from-nowhere": _step("rsync", {"download": {}}, "download.path"),
    "rsync-of-no-size": _step("rsync", {"upload": {"path": "a"}}, "upload.size"),
    "rsync-of-no-files": _step("rsync", {"upload": {"path": "a", "size": 1, "files": 0}}, "upload.files"),
    "rsync-of-too-many-files": _step("rsync", {"upload": {"path": "a", "size": 1, "files": 10_001}}, "upload.files"),
    "rsync-of-too-large-files": _step("rsync", {"upload": {"path": "a", "size": "17Mi"}}, "upload.size"),
    "rsync-that-deletes-here": _step("rsync", {"download": {"path": "a", "delete": True}}, "download.delete"),
    "rsync-with-options": _step("rsync", {"download": {"path": "a"}, "options": ["-e", "sh"]}, "options"),
    "rsync-with-a-line-break": _step("rsync", {"download": {"path": "a\nb"}}, "download.path"),
    "command-of-nothing": Bad(with_steps({"exec": {"command": ""}}), "spec.scenario.steps[0].exec.command"),
    "exit-code-above-255": Bad(
        with_steps({"exec": {"command": "x", "expectExitCode": 256}}), "spec.scenario.steps[0].exec.expectExitCode"
    ),
}

GOOD: dict[str, Spec] = {
    "sleep-alone": with_steps({"sleep": "1s"}),
    "sleeps-beside-one-nameless-exec": with_steps({"sleep": "1s"}, _EXEC, {"sleep": "1s"}),
    "the-longest-command": with_steps({"exec": {"command": "x" * 4096}}),
    "shell-with-control-characters": with_steps({"shell": {"send": "\x03", "expect": "\x1b[0m"}}),
    "forward-of-nothing": with_steps({"forward": {"host": "2001:db8::1", "port": 22}}),
}
