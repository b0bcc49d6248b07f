"""Clients of the API server: in a pod by its service account, elsewhere by a kubeconfig.

The official client reads both, and knows their ways to log in. See docs/design/20261121-passes.md.
"""

import logging
import os
import time
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
from kubernetes.aio.client import ApiClient, Configuration
from kubernetes.aio.config import ConfigException, list_kube_config_contexts, load_incluster_config, load_kube_config
from yaml import YAMLError
from yarl import URL

from sshload_operator.control.api_server.errors import AccessError

_USER_AGENT: Final = "sshload-operator"
_DEFAULT_KUBECONFIG: Final = "~/.kube/config"
_DEFAULT_NAMESPACE: Final = "default"
_SERVICE_ACCOUNT_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
# The client itself reads a service account's token at this interval.
_RENEWED_EVERY_S: Final = 60.0
_READ_BUFFER_BYTES: Final = 64 * 1024
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
# The client hardly checks a kubeconfig before it uses it, so a malformed one raises any of these.
_UNUSABLE: Final = (ConfigException, YAMLError, OSError, LookupError, ValueError, TypeError, AttributeError)


async def api_client(kubeconfig: str = "", context: str = "") -> ApiClient:
    """Return a client for what `kubeconfig` or `context` names, else for the pod's own API server, else for KUBECONFIG.

    In a pod its requests use no proxy. Elsewhere they use the proxy of the kubeconfig, else that of HTTPS_PROXY and
    NO_PROXY. The caller limits the number of concurrent requests, and closes the client. Raises AccessError.
    """
    configuration = careful_configuration()
    try:
        if _is_in_pod(kubeconfig, context):
            load_incluster_config(configuration)
        else:
            await _load_kubeconfig(configuration, kubeconfig, context)
        client = ApiClient(configuration)
    except _UNUSABLE as error:
        raise AccessError(_said(error)) from error
    client.user_agent = _USER_AGENT
    return client


def context_namespace(kubeconfig: str = "", context: str = "") -> str:
    """Return the namespace of the context that `api_client` uses, `default` if that names none; raises AccessError.

    In a pod it is the pod's own.
    """
    if _is_in_pod(kubeconfig, context):
        return _SERVICE_ACCOUNT_NAMESPACE.read_text(encoding="utf-8").strip()
    try:
        contexts, current = list_kube_config_contexts(kubeconfig or os.environ.get("KUBECONFIG") or _kubeconfig_path())
        chosen = next((one for one in contexts if one["name"] == context), None) if context else current
        return str((chosen or {}).get("context", {}).get("namespace") or _DEFAULT_NAMESPACE)
    except _UNUSABLE as error:
        raise AccessError(_said(error)) from error


def _is_in_pod(kubeconfig: str, context: str) -> bool:
    return not (kubeconfig or context) and "KUBERNETES_SERVICE_HOST" in os.environ and "KUBECONFIG" not in os.environ


def _kubeconfig_path() -> str:
    return str(Path(_DEFAULT_KUBECONFIG).expanduser())


def careful_configuration() -> Configuration:
    """Return the configuration of a client that ignores the environment and does not follow redirects."""
    configuration = Configuration()
    configuration.connection_pool_maxsize = 0
    # With trust_env, aiohttp would start two threads for each request, and would also send credentials from ~/.netrc.
    configuration.client_session_kwargs = {
        "trust_env": False,
        "read_bufsize": _READ_BUFFER_BYTES,
        "middlewares": [refuse_redirects],
    }
    return configuration


async def refuse_redirects(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Send a request, and raise ClientConnectionError if the answer is a redirect.

    An API server never redirects. aiohttp would send the credentials along, so an aggregated API or a proxy could
    obtain them.
    """
    answer = await send(request)
    if answer.status in _REDIRECTS:
        answer.close()
        raise aiohttp.ClientConnectionError(f"the answer to {request.url.path} is a redirect, which is not followed")
    return answer


async def authorization(client: ApiClient) -> str:
    """Return the present value of the Authorization header; "" for none. Raises AccessError."""
    try:
        value = await client.configuration.get_api_key_with_prefix("BearerToken")
    except _UNUSABLE as error:
        raise AccessError(f"the credentials cannot be renewed: {_said(error)}") from error
    return value or ""


async def _load_kubeconfig(configuration: Configuration, kubeconfig: str, context: str) -> None:
    logging.getLogger(load_kube_config.__module__).addFilter(_without_contents)
    loader = await load_kube_config(
        config_file=kubeconfig or os.environ.get("KUBECONFIG") or _DEFAULT_KUBECONFIG,
        context=context or None,
        client_configuration=configuration,
        persist_config=False,
    )
    configuration.refresh_api_key_hook = _renewal(loader)
    proxy = configuration.proxy or _proxy_of_environment(configuration.host)
    if proxy is not None:
        _set_proxy(configuration, URL(proxy))


def _renewal(loader: Any) -> Callable[[Configuration], Awaitable[None]]:
    """Return a function that renews the credentials of a kubeconfig: it reads the token file or runs the plug-in.

    It does so at most every _RENEWED_EVERY_S. The client itself does so only when it loads the kubeconfig.
    """
    renewed_at_s = time.monotonic()

    async def renew(configuration: Configuration) -> None:
        nonlocal renewed_at_s
        if time.monotonic() - renewed_at_s >= _RENEWED_EVERY_S:
            renewed_at_s = time.monotonic()
            await loader.load_and_set(configuration)

    return renew


def _proxy_of_environment(server: str) -> str | None:
    url = urlsplit(server)
    proxy = urllib.request.getproxies().get(url.scheme)
    if proxy is None or urllib.request.proxy_bypass(url.hostname or ""):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _set_proxy(configuration: Configuration, proxy: URL) -> None:
    """Set a proxy. Its user and password go into a header, because aiohttp quotes the URL in its errors."""
    configuration.proxy = str(proxy.with_user(None))
    if proxy.user is not None:
        login = aiohttp.encode_basic_auth(proxy.user, proxy.password or "")
        configuration.proxy_headers = {"Proxy-Authorization": login}


def _said(error: Exception) -> str:
    """Return the text of an error without what it quotes of a kubeconfig, which may be credentials."""
    if isinstance(error, YAMLError):
        mark = getattr(error, "problem_mark", None)
        return f"the kubeconfig is not YAML{f', see line {mark.line + 1}' if mark is not None else ''}"
    if isinstance(error, ConfigException | OSError):
        return _without_quotation(str(error))
    return f"the kubeconfig does not have the form of kubectl's: {type(error).__name__}"


def _without_contents(record: logging.LogRecord) -> bool:
    """Remove what the client quotes of a kubeconfig from a log record."""
    record.msg, record.args = _without_quotation(record.getMessage()), ()
    return True


def _without_quotation(message: str) -> str:
    """Return a message up to where it quotes an object of the kubeconfig, as the client does after the file's path."""
    return message.partition("/{")[0]
