import asyncio
import sys
from pathlib import Path

import pytest
import yaml
from sshload_operator.control import access
from sshload_operator.control.access import Access, AccessError, find_access

SERVERS = {"one": "https://one.example.com:6443", "two": "https://two.example.com:6443"}


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    """Write a kubeconfig with two contexts, the first being current, each with a token of its own."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server}} for name, server in SERVERS.items()],
        "users": [{"name": name, "user": {"token": f"token-{name}"}} for name in SERVERS],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in SERVERS],
        "current-context": "one",
    }
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


@pytest.fixture
def service_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make this process look as if it ran in a pod."""
    monkeypatch.setattr(access, "_SERVICE_ACCOUNT", tmp_path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.delenv("KUBECONFIG", raising=False)
    (tmp_path / "token").write_text("first\n")
    return tmp_path


def reached(kubeconfig: str = "", context: str = "") -> tuple[str, str]:
    async def find() -> tuple[Access, str]:
        found = await find_access(kubeconfig, context)
        return found, await found.authorization()

    found, authorization = asyncio.run(find())
    return found.server, authorization.lower()


def test_a_kubeconfig_says_server_and_token_of_its_current_context(kubeconfig: Path) -> None:
    assert reached(str(kubeconfig)) == (SERVERS["one"], "bearer token-one")


def test_another_context_may_be_named(kubeconfig: Path) -> None:
    assert reached(str(kubeconfig), "two") == (SERVERS["two"], "bearer token-two")


def test_a_context_that_is_not_there_is_an_error(kubeconfig: Path) -> None:
    with pytest.raises(AccessError, match="three"):
        reached(str(kubeconfig), "three")


def test_a_kubeconfig_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AccessError):
        reached(str(tmp_path / "nothing"))


def test_in_a_pod_the_service_account_is_used_and_its_token_read_anew(service_account: Path) -> None:
    async def twice() -> tuple[str, str]:
        found = await find_access()
        assert found.server == "https://10.96.0.1:443"
        before = await found.authorization()
        (service_account / "token").write_text("second\n")
        return before, await found.authorization()

    assert asyncio.run(twice()) == ("Bearer first", "Bearer second")


@pytest.mark.usefixtures("service_account")
def test_an_ipv6_address_of_the_server_is_bracketed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    assert reached()[0] == "https://[fd00::1]:443"


@pytest.mark.usefixtures("service_account")
def test_a_kubeconfig_that_is_given_goes_before_the_service_account(kubeconfig: Path) -> None:
    assert reached(str(kubeconfig))[0] == SERVERS["one"]


def test_without_the_kubernetes_client_the_error_says_how_to_get_it(
    kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes.aio.client.configuration", None)
    with pytest.raises(AccessError, match=r"sshload\[cli\]"):
        reached(str(kubeconfig))
