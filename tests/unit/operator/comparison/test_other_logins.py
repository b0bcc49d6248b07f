"""What a comparison says where the logins of its variants agreed on something else, which no spec asks for."""

from dataclasses import replace
from typing import Any

import pytest
from crd_schema import problems, status_schema
from plans import EXTERNAL, quickstart
from sim_comparison import SimComparison, comparison_spec, measured
from specs.comparisons import swept
from sshload_contract.vocabulary import Verdict
from sshload_operator.api.comparison.spec import parse_comparison
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.status.comparison import MOST_AGREED, ComparisonStatus, TestRun
from sshload_operator.api.status.results import Agreement
from sshload_operator.cli.view.comparison import comparison_page
from sshload_operator.cli.view.page import as_text
from sshload_operator.decision.comparison.logins import other_logins
from sshload_operator.report.comparison import comparison_document
from sshload_operator.report.markdown import markdown_text
from sshload_operator.report.saved_run import KeptObject

TODAY = {
    "kex": "mlkem768x25519-sha256",
    "cipher": "aes256-gcm@openssh.com",
    "mac": "implicit",
    "hostKey": "ssh-ed25519",
    "serverVersion": "SSH-2.0-OpenSSH_10.0",
    "count": 100,
}
CAUTION = ". Caution: the figures include that logins differ in what no spec asks for: "
OTHERS = [
    ("kex", "curve25519-sha256", "the key exchange is curve25519-sha256 in b and mlkem768x25519-sha256 in a"),
    ("cipher", "aes128-ctr", "the cipher is aes128-ctr in b and aes256-gcm@openssh.com in a"),
    ("mac", "hmac-sha2-256", "the MAC is hmac-sha2-256 in b and implicit in a"),
    ("hostKey", "rsa-sha2-512", "the host key is rsa-sha2-512 in b and ssh-ed25519 in a"),
    ("serverVersion", "SSH-2.0-dropbear", "the server is SSH-2.0-dropbear in b and SSH-2.0-OpenSSH_10.0 in a"),
]


def play(spec: dict[str, Any], *, invalid: str = "", **agreed: list[dict[str, Any]]) -> SimComparison:
    """Play a comparison whose variants' logins agree on these in each test; the one that is `invalid` gives none."""
    world = SimComparison(spec)
    world.settle()
    while world.status["phase"] != "Finished":
        (name,) = world.under_way()
        end = measured()
        end["results"] = {**end["results"], "negotiated": agreed.get(name.split("-", 2)[2], [TODAY])}
        world.end(name, {**end, "verdict": "Invalid", "reason": "ReportsMissing"} if name == invalid else end)
        world.pass_time(30)
        world.settle()
    return world


def caution(world: SimComparison) -> str:
    """Return what is said of other logins, empty for nothing."""
    return str(world.status["message"]).partition(CAUTION)[2]


def with_sshd(*settings: dict[str, Any], **client: Any) -> dict[str, Any]:
    """Return a comparison of variants that differ in these settings of sshd, with the same client."""
    names = ("a", "b", "c")[: len(settings)]
    spec = comparison_spec(*names)
    spec["base"] = {**spec["base"], **client}
    for variant, sshd in zip(spec["variants"], settings, strict=True):
        variant["patch"] = {"target": {"managed": {"sshd": sshd}}}
    return spec


@pytest.mark.parametrize(("field", "value", "told"), OTHERS, ids=[row[0] for row in OTHERS])
def test_whatever_two_variants_agreed_on_differently_is_told_at_the_end(field: str, value: str, told: str) -> None:
    world = play(comparison_spec(), b=[{**TODAY, field: value}])
    assert world.status["verdict"] == "Conclusive"
    assert caution(world) == told


def test_of_the_same_logins_nothing_is_told_however_many_they_were_and_in_which_order() -> None:
    other = {**TODAY, "kex": "curve25519-sha256"}
    assert "Caution" not in play(comparison_spec(), b=[{**TODAY, "count": 7}]).status["message"]
    assert "Caution" not in play(comparison_spec(), a=[TODAY, other], b=[other, TODAY]).status["message"]


def test_where_one_variant_has_no_logins_of_its_own_nothing_is_told() -> None:
    assert "Caution" not in play(comparison_spec(), b=[]).status["message"]


ASKED = [
    ("kex", "curve25519-sha256", "kexAlgorithms"),
    ("cipher", "aes128-ctr", "ciphers"),
    ("mac", "hmac-sha2-256", "macs"),
    ("hostKey", "rsa-sha2-512", "hostKeyAlgorithms"),
]


@pytest.mark.parametrize(("field", "value", "setting"), ASKED, ids=[row[0] for row in ASKED])
def test_what_a_spec_asks_for_is_compared_and_needs_no_caution(field: str, value: str, setting: str) -> None:
    b = [{**TODAY, field: value}]
    assert "Caution" not in play(with_sshd({}, {setting: [value]}), b=b).status["message"]
    of_client = comparison_spec()
    of_client["variants"][1]["patch"] = {"client": {setting: [value]}}
    assert "Caution" not in play(of_client, b=b).status["message"]
    elsewhere = next(row[2] for row in ASKED if row[0] != field)
    value_there = next(row[1] for row in ASKED if row[2] == elsewhere)
    assert "Caution" in play(with_sshd({}, {elsewhere: [value_there]}), b=b).status["message"]


def test_another_server_of_another_image_or_address_is_what_is_compared() -> None:
    spec = comparison_spec()
    spec["variants"][1]["patch"] = {"target": {"managed": {"image": "another"}}}
    assert "Caution" not in play(spec, b=[{**TODAY, "serverVersion": "SSH-2.0-OpenSSH_9.2"}]).status["message"]
    assert "Caution" in play(spec, b=[{**TODAY, "kex": "curve25519-sha256"}]).status["message"]


def test_servers_that_exist_are_told_apart_by_their_names_and_ask_for_nothing() -> None:
    targets = [{"external": {**EXTERNAL, "host": host}} for host in ("one.example.com", "two.example.com")]

    def told(variant: dict[str, Any], **other: str) -> str:
        """Return what is said where the logins of the second variant agreed on something other."""
        base = {**quickstart(), "target": targets[0]}
        spec = parse_comparison({"base": base, "variants": [{"name": "a"}, {"name": "b", **variant}]})
        agreed = [(name, read_fitting(Agreement, {**TODAY, **more})) for name, more in (("a", {}), ("b", other))]
        tests = [
            TestRun(test=name, round=1, variant=name, verdict=Verdict.PASSED, negotiated=(one,)) for name, one in agreed
        ]
        return other_logins(spec, tests).removeprefix(CAUTION)

    elsewhere, same = {"patch": {"target": targets[1]}}, {"patch": {"load": quickstart()["load"]}}
    assert told(elsewhere, serverVersion="SSH-2.0-dropbear") == ""
    assert told(elsewhere, cipher="aes128-ctr") == OTHERS[1][2]
    assert told(same, serverVersion="SSH-2.0-dropbear") == OTHERS[4][2]


def test_each_variant_is_told_beside_its_own_reference() -> None:
    spec = comparison_spec("a", "b", "c")
    spec["variants"][2]["reference"] = "b"
    other = [{**TODAY, "kex": "curve25519-sha256", "hostKey": "rsa-sha2-512"}]
    assert caution(play(spec, b=other, c=other)) == (
        "the key exchange is curve25519-sha256 in b and mlkem768x25519-sha256 in a;"
        " the host key is rsa-sha2-512 in b and ssh-ed25519 in a"
    )


def test_a_variant_of_a_sweep_is_named_by_its_value() -> None:
    spec = swept("target.managed.sshd.maxStartups", "10:30:100,20:30:100")
    name = parse_comparison(spec).variants[1].name
    assert name != "20:30:100"
    found = play(spec, **{name: [{**TODAY, "kex": "curve25519-sha256"}]})
    told = "the key exchange is curve25519-sha256 in 20:30:100 and mlkem768x25519-sha256 in 10:30:100"
    assert caution(found) == told


def test_a_test_that_gave_no_figures_has_no_logins_either() -> None:
    world = play(comparison_spec(), invalid="cmp-1-b", b=[{**TODAY, "kex": "curve25519-sha256"}])
    (lost,) = (one for one in world.status["tests"] if one["test"] == "cmp-1-b")
    assert "negotiated" not in lost
    assert all(one["negotiated"] for one in world.status["tests"] if one is not lost)


def test_a_status_has_the_most_frequent_logins_of_each_test_as_the_crd_takes_it() -> None:
    many = [{**TODAY, "kex": f"kex-{number}", "count": 100 - number} for number in range(20)]
    world = play(comparison_spec(), b=many)
    (first,) = (one for one in world.status["tests"] if one["test"] == "cmp-1-b")
    assert first["negotiated"] == many[:MOST_AGREED]
    assert list(problems(world.status, status_schema("sshloadtestcomparisons"))) == []


def shown(world: SimComparison, *, verbose: bool = False) -> list[str]:
    """Return the lines of the terminal that tell of logins."""
    page = comparison_page("cmp", read_fitting(ComparisonStatus, world.status), verbose=verbose)
    parts = replace(page, sentence="")
    return [line.strip() for line in as_text(parts, 200).splitlines() if line.endswith(" logins")]


def test_the_terminal_shows_what_the_logins_of_each_variant_agreed_on_where_they_differ_or_with_v() -> None:
    same = play(comparison_spec())
    assert shown(same) == []
    words = "SSH-2.0-OpenSSH_10.0, mlkem768x25519-sha256, ssh-ed25519, aes256-gcm@openssh.com: 300 logins"
    assert shown(same, verbose=True) == [f"a  {words}", f"b  {words}"]
    other = play(comparison_spec(), b=[{**TODAY, "kex": "curve25519-sha256"}])
    assert shown(other) == [f"a  {words}", f"b  {words.replace('mlkem768x25519-sha256', 'curve25519-sha256')}"]


def test_a_report_has_what_the_logins_of_each_variant_agreed_on() -> None:
    other = {**TODAY, "kex": "curve25519-sha256", "count": 9}
    spec = comparison_spec()
    world = play(spec, b=[TODAY, other])
    document = comparison_document(KeptObject("cmp", "ns", spec, world.status), "0.1.0")
    assert [one["negotiated"] for one in document["variants"]] == [
        [{**TODAY, "count": 300}],
        [{**TODAY, "count": 300}, {**other, "count": 27}],
    ]
    text = markdown_text(document)
    assert "## Negotiated algorithms" in text
    assert "| b | curve25519-sha256 | aes256-gcm@openssh.com | implicit | ssh-ed25519 |" in text.replace("&#8203;", "")
