"""What a client is made of: a kubeconfig, or what the kubelet gives a pod; and as whom it asks, request by request."""

import asyncio
import datetime as dt
import json
import logging
import socket
import ssl
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
import yaml
from aiohttp import web
from canary import Canary, new_text
from connect_proxy import connect_proxy
from kubernetes.aio.client import ApiClient
from kubernetes.aio.config import incluster_config
from played_api import played_api
from sshload_operator.control.api_server import client as module
from sshload_operator.control.api_server.client import api_client
from sshload_operator.control.api_server.cluster import Cluster
from sshload_operator.control.api_server.errors import AccessError, ApiError
from sshload_operator.control.api_server.watch_session import watch_session
from sshload_operator.control.metrics.self_signed import key_and_certificate

SERVERS = {"one": "https://one.example.com:6443", "two": "https://two.example.com:6443"}
Connect = Callable[[str], Awaitable[ApiClient]]


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    """Write a kubeconfig with two contexts, the first being current, each with a token of its own."""
    path = tmp_path / "kubeconfig"
    path.write_text(
        yaml.safe_dump(config(*((name, {"server": url}, {"token": name}) for name, url in SERVERS.items())))
    )
    return path


@pytest.fixture
def service_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make this process look as if it ran in a pod, whose API server has the certificate that is in `tls.pem`."""
    with monkeypatch.context() as patched:
        patched.setattr(socket, "gethostname", lambda: "localhost")
        made = key_and_certificate()
    (tmp_path / "tls.pem").write_bytes(made)
    (tmp_path / "ca.crt").write_bytes(made[made.index(b"-----BEGIN CERTIFICATE") :])
    (tmp_path / "token").write_text("first")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.delenv("KUBECONFIG", raising=False)
    return tmp_path


def config(*entries: tuple[str, Mapping[str, Any], Mapping[str, Any]]) -> dict[str, Any]:
    """Return a kubeconfig with a context for each name, cluster and user, the first of them current."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": dict(cluster)} for name, cluster, _ in entries],
        "users": [{"name": name, "user": dict(user)} for name, _, user in entries],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name, _, _ in entries],
        "current-context": entries[0][0],
    }


def made(kubeconfig: Path | str = "", context: str = "") -> ApiClient:
    """Return a client that is closed already."""

    async def make() -> ApiClient:
        async with await api_client(str(kubeconfig), context) as client:
            return client

    return asyncio.run(make())


def server(kubeconfig: Path | str = "", context: str = "") -> str:
    host: str = made(kubeconfig, context).configuration.host
    return host


def asked_as(connect: Connect, change: Callable[[], object], tls: ssl.SSLContext | None = None) -> list[str]:
    """Ask an API server of this test before and after a change; return the Authorization headers that it gets."""
    seen: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Authorization", ""))
        return web.json_response({"resources": []})

    async def play() -> None:
        async with played_api(answer, tls) as played:
            cluster = Cluster(await connect(played.configuration.host), lambda *_: None)
            try:
                await cluster.served_kinds()
                change()
                await cluster.served_kinds()
            finally:
                await cluster.close()

    asyncio.run(play())
    return seen


def by_kubeconfig(folder: Path, user: Mapping[str, Any]) -> Connect:
    """Return what connects as such a user of a kubeconfig."""

    async def connect(url: str) -> ApiClient:
        path = folder / "kubeconfig"
        path.write_text(yaml.safe_dump(config(("one", {"server": url}, user))))
        return await api_client(str(path))

    return connect


def test_a_kubeconfig_says_server_and_token_of_its_current_context(kubeconfig: Path) -> None:
    assert server(kubeconfig) == SERVERS["one"]


def test_another_context_may_be_named(kubeconfig: Path) -> None:
    assert server(kubeconfig, "two") == SERVERS["two"]


def test_without_a_name_the_kubeconfig_of_the_environment_is_read(
    kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    assert server() == SERVERS["one"]


def test_a_context_that_is_not_there_is_an_error(kubeconfig: Path) -> None:
    with pytest.raises(AccessError, match="three"):
        made(kubeconfig, "three")


def test_a_kubeconfig_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AccessError):
        made(tmp_path / "nothing")


def test_a_token_is_that_of_the_user(tmp_path: Path) -> None:
    assert asked_as(by_kubeconfig(tmp_path, {"token": "mine"}), lambda: None) == ["Bearer mine", "Bearer mine"]


def test_a_token_file_of_a_kubeconfig_is_read_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RENEWED_EVERY_S", 0.0)
    token = tmp_path / "token"
    token.write_text("first")
    connect = by_kubeconfig(tmp_path, {"tokenFile": str(token)})
    assert asked_as(connect, lambda: token.write_text("second")) == ["Bearer first", "Bearer second"]


def plug_in(folder: Path, prints: str) -> dict[str, Any]:
    """Return a user whose credentials a program prints."""
    program = folder / "plug-in"
    program.write_text(f"#!/bin/sh\n{prints}\n")
    program.chmod(0o755)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(program)}}


def test_a_plug_in_is_asked_again_when_its_token_expires(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RENEWED_EVERY_S", 0.0)
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": "TOKEN", "expirationTimestamp": "2020-01-01T00:00:00Z"},
    }
    token = tmp_path / "token"
    token.write_text("first")
    user = plug_in(tmp_path, f"echo '{json.dumps(credential)}' | sed s/TOKEN/$(cat {token})/")
    asked = asked_as(by_kubeconfig(tmp_path, user), lambda: token.write_text("second"))
    assert asked == ["Bearer first", "Bearer second"]


def test_the_password_of_a_netrc_is_for_other_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("default login somebody password else\n")
    monkeypatch.setenv("NETRC", str(netrc))
    assert set(asked_as(by_kubeconfig(tmp_path, {"token": "mine"}), lambda: None)) == {"Bearer mine"}
    assert set(asked_as(by_kubeconfig(tmp_path, {}), lambda: None)) == {""}


@pytest.fixture
def a_minute_passes(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let the client read the time off a clock that stands still; return what moves it on."""
    now = dt.datetime(2026, 1, 1)  # noqa: DTZ001 - as the client has it

    def move() -> None:
        nonlocal now
        now += dt.timedelta(minutes=1)

    clock = SimpleNamespace(now=lambda: now)
    monkeypatch.setattr(incluster_config, "datetime", SimpleNamespace(datetime=clock, timedelta=dt.timedelta))
    return move


def test_in_a_pod_the_token_that_the_kubelet_has_replaced_is_used_within_a_minute(
    service_account: Path, monkeypatch: pytest.MonkeyPatch, a_minute_passes: Callable[[], None]
) -> None:
    def replace() -> None:
        (service_account / "token").write_text("second")
        a_minute_passes()

    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(service_account / "tls.pem")
    asked = asked_as(in_pod(monkeypatch), replace, tls)
    assert [header.casefold() for header in asked] == ["bearer first", "bearer second"]


def in_pod(monkeypatch: pytest.MonkeyPatch) -> Connect:
    """Return what connects to the API server as a pod does, which knows its address by its environment."""

    async def connect(url: str) -> ApiClient:
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "localhost")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", url.rpartition(":")[2])
        return await api_client()

    return connect


def test_in_a_pod_no_server_is_trusted_but_that_of_the_bundle(
    service_account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (service_account / "other.pem").write_bytes(key_and_certificate())
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(service_account / "other.pem")
    with pytest.raises(ApiError, match=r"no answer: .*CERTIFICATE_VERIFY_FAILED"):
        asked_as(in_pod(monkeypatch), lambda: None, tls)


def test_a_token_that_is_gone_is_a_request_without_an_answer(
    service_account: Path, a_minute_passes: Callable[[], None]
) -> None:
    async def play() -> None:
        cluster = Cluster(await api_client(), lambda *_: None)
        (service_account / "token").unlink()
        a_minute_passes()
        try:
            await cluster.served_kinds()
        finally:
            await cluster.close()

    with pytest.raises(ApiError, match=r"no answer: .*credentials cannot be renewed: .*/token"):
        asyncio.run(play())


@pytest.mark.usefixtures("service_account")
def test_an_ipv6_address_of_the_server_is_bracketed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    assert server() == "https://[fd00::1]:443"


@pytest.mark.usefixtures("service_account")
def test_a_kubeconfig_that_is_given_goes_before_the_service_account(kubeconfig: Path) -> None:
    assert server(kubeconfig) == SERVERS["one"]


@pytest.mark.parametrize("missing", ["token", "ca.crt"])
def test_a_pod_without_all_of_its_service_account_says_so(service_account: Path, missing: str) -> None:
    (service_account / missing).unlink()
    with pytest.raises(AccessError, match="does not exist"):
        made()


@pytest.mark.parametrize(
    ("environment", "cluster", "proxy"),
    [
        pytest.param({}, {}, None, id="none"),
        pytest.param({"HTTPS_PROXY": "http://proxy:3128"}, {}, "http://proxy:3128", id="of the environment"),
        pytest.param({"HTTPS_PROXY": "http://me:secret@proxy:3128"}, {}, "http://proxy:3128", id="with a login"),
        pytest.param({"HTTPS_PROXY": "proxy:3128"}, {}, "http://proxy:3128", id="without a scheme"),
        pytest.param(
            {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": ".example.com"}, {}, None, id="not for this server"
        ),
        pytest.param({"HTTP_PROXY": "http://proxy:3128"}, {}, None, id="for another scheme"),
        pytest.param(
            {"HTTPS_PROXY": "http://proxy:3128"}, {"proxy-url": "http://own:1"}, "http://own:1", id="of the kubeconfig"
        ),
    ],
)
def test_the_proxy_is_that_of_the_kubeconfig_else_that_of_the_environment(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    environment: Mapping[str, str],
    cluster: Mapping[str, str],
    proxy: str | None,
) -> None:
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config(("one", {"server": SERVERS["one"], **cluster}, {"token": "mine"}))))
    assert made(path).configuration.proxy == proxy


def reached(folder: Path, cluster: Callable[[str], Mapping[str, Any]]) -> list[str]:
    """Ask the server of a cluster of a kubeconfig as the operator does and as kopf does; return what it is asked."""
    asked = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(f"{request.method} {request.path}")
        return web.json_response({"resources": []})

    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(folder / "tls.pem")
    path = folder / "kubeconfig"

    async def play() -> None:
        async with played_api(answer, tls) as played:
            entry = {"certificate-authority": str(folder / "ca.crt"), **cluster(played.configuration.host)}
            path.write_text(yaml.safe_dump(config(("one", entry, {"token": "mine"}))))
            client = await api_client(str(path))
            asking = Cluster(client, lambda *_: None)
            await asking.served_kinds()
            async with watch_session(client, lambda _: None) as session:
                await session.get(f"{client.configuration.host}/of-kopf")
            await asking.close()

    asyncio.run(play())
    return asked


ASKED = ["GET /apis/sshload.dev/v1alpha1", "GET /of-kopf"]


def test_the_name_in_the_certificate_of_the_server_may_be_another_one(service_account: Path) -> None:
    assert reached(service_account, lambda url: {"server": url, "tls-server-name": "localhost"}) == ASKED


def test_all_requests_log_in_at_the_proxy(service_account: Path) -> None:
    with connect_proxy("me:secret") as proxy:
        by_name = {"proxy-url": proxy.url("me:secret")}
        asked = reached(service_account, lambda url: {"server": url.replace("127.0.0.1", "localhost"), **by_name})
    assert asked == ASKED
    assert len(proxy.asked_for) == 1


@pytest.mark.usefixtures("service_account")
def test_in_a_pod_the_api_server_is_asked_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    assert made().configuration.proxy is None


SECRET = new_text()


def of_user(**user: Any) -> Mapping[str, Any]:
    return {"users": [{"name": "one", "user": user}]}


NO_COMMAND = {"apiVersion": "v1", "command": None, "env": [{"name": "A", "value": SECRET}]}
OPEN_ID = {"name": "oidc", "config": {"refresh-token": SECRET}}
FAULTY: Mapping[str, Any] = {
    "no YAML": f"users: [{{name: one, token: {SECRET}",
    "a tag": f"users: !{SECRET} []",
    "an alias": f"users: *{SECRET}",
    "empty": "",
    "a list": f"[{SECRET}]",
    "a user without a user": {"users": [{"name": "one", "token": SECRET}]},
    "a user that is a list": {"users": [{"name": "one", "user": [SECRET]}]},
    "a user without a name": {"users": [{"user": {"token": SECRET}}]},
    "a cluster without a cluster": {"clusters": [{"name": "one", "token": SECRET}]},
    "a plug-in without a command": of_user(exec={"env": SECRET}),
    "a plug-in whose command is null": of_user(exec=NO_COMMAND),
    "a provider without an id": of_user(**{"auth-provider": OPEN_ID}),
    "a key that is none": of_user(**{"client-key-data": SECRET}),
    "a token of two lines": of_user(token=f"{SECRET}\n{SECRET}"),
}


@pytest.mark.parametrize("fault", FAULTY)
def test_no_credentials_of_a_kubeconfig_are_in_an_error_or_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    content = FAULTY[fault]
    whole = config(("one", {"server": "https://127.0.0.1:1"}, {"token": SECRET}))
    path = tmp_path / "kubeconfig"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump({**whole, **content}))

    async def play() -> None:
        cluster = Cluster(await api_client(str(path)), lambda *_: None)
        try:
            await cluster.served_kinds()
        finally:
            await cluster.close()

    caplog.set_level("DEBUG")
    with pytest.raises((AccessError, ApiError)) as raised:
        asyncio.run(play())
    canary = Canary({"token": SECRET.encode()})
    assert not canary.found_in("the error", str(raised.value))
    assert not canary.found_in("the log", caplog.text)


def loaded() -> set[str]:
    """Return the modules that the operator has loaded when it starts."""
    names = "import sys, sshload_operator.__main__; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", names], check=True, stdout=subprocess.PIPE, text=True)
    return set(found.stdout.split())


@pytest.mark.slow
def test_the_operator_does_not_load_the_models_of_the_client() -> None:
    """The client has 1,500 of them, of which kopf imports the few that it knows."""
    assert sum(".client.models." in name for name in loaded()) < 20


@pytest.mark.slow
def test_the_operator_does_not_load_what_it_needs_for_a_moment_only() -> None:
    """A certificate is signed by a process of its own: the library would take 11 MB for good."""
    assert "cryptography" not in loaded()


def with_namespaces(path: Path) -> Path:
    """Write a kubeconfig whose first and current context has a namespace, the second another one, the third none."""
    written = config(*((name, {"server": SERVERS["one"]}, {}) for name in ("one", "two", "three")))
    for entry, namespace in zip(written["contexts"], ("first", "second"), strict=False):
        entry["context"]["namespace"] = namespace
    path.write_text(yaml.safe_dump(written))
    return path


@pytest.mark.parametrize(
    ("context", "namespace"),
    [
        pytest.param("", "first", id="the current one"),
        pytest.param("two", "second", id="another one that is named"),
        pytest.param("three", "default", id="one without a namespace"),
        pytest.param("four", "default", id="one that is not there"),
    ],
)
def test_the_namespace_is_that_of_the_context(tmp_path: Path, context: str, namespace: str) -> None:
    assert module.context_namespace(str(with_namespaces(tmp_path / "kubeconfig")), context) == namespace


def test_the_namespace_is_that_of_the_kubeconfig_of_the_environment_else_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    own = with_namespaces(tmp_path / "own")
    own.write_text(own.read_text().replace("first", "mine"))
    monkeypatch.setattr(module, "_DEFAULT_KUBECONFIG", str(own))
    assert module.context_namespace() == "mine"
    monkeypatch.setenv("KUBECONFIG", str(with_namespaces(tmp_path / "other")))
    assert module.context_namespace() == "first"
    assert module.context_namespace(str(own)) == "mine"


@pytest.mark.parametrize(
    ("given", "environment", "in_pod"),
    [
        pytest.param(("", ""), {"KUBERNETES_SERVICE_HOST": "10.96.0.1"}, True, id="in a pod"),
        pytest.param(("", ""), {}, False, id="elsewhere"),
        pytest.param(("", ""), {"KUBERNETES_SERVICE_HOST": "h", "KUBECONFIG": "k"}, False, id="a kubeconfig is set"),
        pytest.param(("k", ""), {"KUBERNETES_SERVICE_HOST": "h"}, False, id="a kubeconfig is given"),
        pytest.param(("", "c"), {"KUBERNETES_SERVICE_HOST": "h"}, False, id="a context is given"),
    ],
)
def test_the_pods_own_api_server_is_meant_where_no_other_is_named(
    monkeypatch: pytest.MonkeyPatch,
    given: tuple[str, str],
    environment: Mapping[str, str],
    *,
    in_pod: bool,
) -> None:
    for name in ("KUBERNETES_SERVICE_HOST", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert module._is_in_pod(*given) is in_pod


@pytest.mark.usefixtures("service_account")
def test_the_namespace_of_a_pod_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "namespace").write_text("of-the-pod\n")
    monkeypatch.setattr(module, "_SERVICE_ACCOUNT_NAMESPACE", tmp_path / "namespace")
    assert module.context_namespace() == "of-the-pod"


def test_a_kubeconfig_that_cannot_be_read_has_no_namespace_and_says_where_it_is_no_yaml(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("contexts:\n- {name: one\nusers: []\n")
    with pytest.raises(AccessError) as refused:
        module.context_namespace(str(path))
    assert str(refused.value) == "the kubeconfig is not YAML, see line 3"


def test_a_client_limits_no_connections_itself_and_asks_nothing_of_the_environment() -> None:
    configuration = module.careful_configuration()
    assert configuration.connection_pool_maxsize == 0
    assert configuration.client_session_kwargs["trust_env"] is False


def test_an_answer_that_is_a_redirect_is_closed() -> None:
    closed: list[None] = []

    async def play() -> None:
        answer: Any = SimpleNamespace(status=302, close=lambda: closed.append(None))
        request: Any = SimpleNamespace(url=SimpleNamespace(path="/elsewhere"))

        async def send(_: object) -> Any:
            return answer

        await module.refuse_redirects(request, send)

    with pytest.raises(aiohttp.ClientConnectionError, match="/elsewhere is a redirect"):
        asyncio.run(play())
    assert len(closed) == 1


def test_without_credentials_there_is_no_login(tmp_path: Path) -> None:
    async def play() -> str:
        path = tmp_path / "kubeconfig"
        path.write_text(yaml.safe_dump(config(("one", {"server": SERVERS["one"]}, {}))))
        async with await api_client(str(path)) as client:
            return await module.authorization(client)

    assert asyncio.run(play()) == ""


def test_a_kubeconfig_is_never_written(kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded_with: dict[str, Any] = {}
    load = module.load_kube_config

    async def look(**how: Any) -> Any:
        loaded_with.update(how)
        return await load(**how)

    monkeypatch.setattr(module, "load_kube_config", look)
    made(kubeconfig)
    assert loaded_with["persist_config"] is False


def test_a_line_of_the_log_is_kept_without_what_it_quotes_of_a_kubeconfig() -> None:
    record = logging.LogRecord("x", logging.WARNING, "x.py", 1, "bad config %s/{'token': %r}", ("/path", SECRET), None)
    assert module._without_contents(record) is True
    assert record.getMessage() == "bad config /path"
