"""What the guide tells people to type exists, and the YAML that it shows is what the programs take."""

import re
import stat
import time
from typing import Any

import pytest
import yaml
from guide import PAGES, ROOT, Block, blocks, commands, parse
from sshload_gateway.config import read_config
from sshload_operator.api.comparison.spec import parse_comparison
from sshload_operator.api.kinds import COMPARISON, SCHEDULE, TEST
from sshload_operator.api.load_test import parse as parse_test
from sshload_operator.api.schedule.spec import parse_schedule
from sshload_operator.api.spec import LoadTestSpec
from sshload_operator.api.targets import ManagedTarget
from sshload_operator.control.channels.webhook import signed_headers
from sshload_operator.planning.cautions import cautions
from sshload_operator.planning.installation import Installation, read_installation
from sshload_operator.planning.plan import TestIdentity, make_plan
from sshload_operator.planning.preflight import preflight

PROGRAMS = {
    ".venv/bin/locust",
    ".venv/bin/python",
    ".venv/bin/sshload-gateway",
    "cosign",
    "curl",
    "kadmin",
    "debootstrap",
    "docker",
    "echo",
    "export",
    "flux",
    "gh",
    "helm",
    "journalctl",
    "k3s",
    "kubectl",
    "openssl",
    "pipx",
    "skopeo",
    "ssh-copy-id",
    "ssh-keygen",
    "ssh-keyscan",
    "umask",
}
YAML = tuple(blocks("yaml"))
COMMANDS = tuple(blocks("sh"))
TESTS = tuple(block for block in YAML if f"kind: {TEST.name}\n" in block.text)
SCHEDULES = tuple(block for block in YAML if f"kind: {SCHEDULE.name}\n" in block.text)
COMPARISONS = tuple(block for block in YAML if f"kind: {COMPARISON.name}\n" in block.text)
GATEWAY = tuple(block for block in YAML if block.page.name == "gateway.md" and "gateway" not in block.document)
VALUES = tuple(block for block in YAML if "apiVersion:" not in block.text and block not in GATEWAY)


def test_the_guide_shows_tests_values_and_commands() -> None:
    assert len(TESTS) >= 4
    assert VALUES
    assert len(COMMANDS) >= 10
    assert {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"} <= {page.name for page in PAGES}


@pytest.mark.parametrize("block", TESTS, ids=str)
def test_a_test_that_is_shown_is_valid_and_possible_and_its_load_can_decide_it(block: Block) -> None:
    document = block.document
    spec = parse_test(document["spec"])
    assert document["apiVersion"] == "sshload.dev/v1alpha1"
    identity = TestIdentity("default", document["metadata"]["name"], "uid", 1)
    plan = make_plan(identity, spec, installation(block, spec), 1)
    assert preflight(plan) is None
    assert [caution for caution in cautions(plan) if caution.startswith("spec.thresholds")] == []


@pytest.mark.parametrize("block", SCHEDULES, ids=str)
def test_a_schedule_that_is_shown_is_valid(block: Block) -> None:
    document = block.document
    assert parse_schedule(document["spec"])


@pytest.mark.parametrize("block", COMPARISONS, ids=str)
def test_a_comparison_that_is_shown_is_valid(block: Block) -> None:
    document = block.document
    assert parse_comparison(document["spec"]).variants


def is_external(spec: LoadTestSpec) -> bool:
    return not isinstance(spec.target, ManagedTarget) or bool(spec.via)


def installation(block: Block, spec: LoadTestSpec) -> Installation:
    """Return an installation as the page shows it, in a block or by --set, where a test needs more than the default."""
    images = {"workerImage": "w", "targetImage": "t", "systemImage": "s", "proxyImage": "p", "gatewayImage": "g"}
    return read_installation(
        yaml.safe_dump({**images, **(shown_values(block) if is_external(spec) or needs_permission(spec) else {})})
    )


def needs_permission(spec: LoadTestSpec) -> bool:
    return any(not permission.by_default for _, permission in spec.permissions)


def shown_values(block: Block) -> dict[str, Any]:
    values = next((other.document for other in VALUES if other.page == block.page), None)
    if values is not None:
        return values
    assert "--set 'externalTargets[0].host=bastion.example.com'" in block.page.read_text()
    return {"externalTargets": [{"host": "bastion.example.com", "ports": [22]}]}


@pytest.mark.parametrize("block", VALUES, ids=str)
def test_a_value_of_the_chart_that_is_shown_is_one(block: Block) -> None:
    known = yaml.safe_load((ROOT / "charts/sshload/values.yaml").read_text())
    assert set(block.document) <= set(known)


def test_the_configurations_of_a_gateway_that_are_shown_are_some() -> None:
    whole, *parts = (block.document for block in GATEWAY)
    assert parts
    for part in ({}, *parts):
        assert read_config(yaml.safe_dump({**whole, **part}))


@pytest.mark.parametrize("block", COMMANDS, ids=str)
def test_a_command_that_is_shown_exists(block: Block) -> None:
    for words in commands(block):
        program, arguments = words[0], words[1:]
        if program == "make":
            assert_make_verbs(arguments)
        elif arguments == ["--version"]:
            assert program == ".venv/bin/sshload"
        elif program == ".venv/bin/sshload":
            parse(arguments[: arguments.index(">")] if ">" in arguments else arguments)
        elif program.startswith("scripts/"):
            assert (ROOT / program).stat().st_mode & stat.S_IXUSR
            assert re.search(
                rf"^#   {program.removeprefix('scripts/')} ({arguments[0]}\b|[A-Z])", script(program), re.MULTILINE
            )
        else:
            assert program in PROGRAMS, words


SECRET = re.compile(r"openssl rand|PASSWORD|create token")


@pytest.mark.parametrize("block", [block for block in COMMANDS if SECRET.search(block.text)], ids=str)
def test_a_secret_that_a_command_makes_is_read_by_nobody_else(block: Block) -> None:
    """Neither in a file, nor in the command line of a program, which all users of a machine can see."""
    is_private = False
    for words in commands(block):
        is_private = is_private or words == ["umask", "077"]
        assert words[0] in {"echo", "openssl"} or SECRET.search(" ".join(words[1:])) is None or "token" in words, words
        assert is_private or ">" not in words, words


def test_the_locustfile_that_is_shown_is_the_examples() -> None:
    (block,) = (block for block in blocks("python") if "locust" in block.text)
    assert block.text == (ROOT / "examples/locustfiles/mixed.py").read_text()


def test_the_check_of_a_signature_that_is_shown_takes_the_operators_and_no_other_one() -> None:
    (block,) = (block for block in blocks("python") if "webhook-signature" in block.text)
    shown: dict[str, Any] = {}
    exec(block.text, shown)  # noqa: S102 - the guide's own program
    key, body, now = b"k" * 24, b"{}", int(time.time())
    assert shown["is_genuine"](key, signed_headers(key, "id", now, body), body)
    assert not shown["is_genuine"](key, signed_headers(key, "id", now, body), b"{ }")
    assert not shown["is_genuine"](b"l" * 24, signed_headers(key, "id", now, body), body)
    assert not shown["is_genuine"](key, signed_headers(key, "id", now - 400, body), body)


def script(path: str) -> str:
    return (ROOT / path).read_text()


def assert_make_verbs(verbs: list[str]) -> None:
    makefile = (ROOT / "Makefile").read_text()
    for verb in verbs:
        if "=" not in verb:
            assert re.search(rf"^{re.escape(verb)}:", makefile, re.MULTILINE), verb


@pytest.mark.parametrize("block", COMMANDS, ids=str)
def test_files_and_values_in_a_command_exist(block: Block) -> None:
    values = (ROOT / "charts/sshload/values.yaml").read_text()
    for words in commands(block):
        for word in words:
            if word.startswith(("examples/", "charts/")):
                assert (ROOT / word).exists(), word
            if re.fullmatch(r"(image|externalTargets)[.\[].*=.*", word):
                assert re.search(rf"^{re.split(r'[.[]', word)[0]}:", values, re.MULTILINE), word


def test_the_readme_begins_with_two_commands_on_one_machine() -> None:
    first = next(block for block in COMMANDS if block.page.name == "README.md")
    assert list(commands(first)) == [["make", "venv"], [".venv/bin/sshload", "run", "examples/01-quickstart.yaml"]]
