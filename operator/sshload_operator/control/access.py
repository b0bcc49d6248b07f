"""How the API server is reached, and as whom: in a pod by its service account, elsewhere by a kubeconfig.

Only a kubeconfig needs the official Kubernetes client, which knows all the ways to log in that kubeconfigs know. It is
imported when it is needed and not before: in the operator's pod it would cost 20 MB and serve nothing.
"""

import os
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class AccessError(Exception):
    """Nothing says how to reach an API server, or what says it cannot be read."""


@dataclass(frozen=True, slots=True)
class Access:
    """One API server and one identity. `authorization` returns the header's value as it is now, "" for none."""

    server: str
    ca_path: str | None
    certificate_path: str | None
    private_key_path: str | None
    verify_tls: bool
    tls_server_name: str | None
    proxy_url: str | None
    authorization: Callable[[], Awaitable[str]]

    def tls_context(self) -> ssl.SSLContext:
        """Return what connections are made with."""
        context = ssl.create_default_context(cafile=self.ca_path)
        if self.certificate_path:
            context.load_cert_chain(self.certificate_path, self.private_key_path)
        if not self.verify_tls:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


async def find_access(kubeconfig: str = "", context: str = "") -> Access:
    """Return what `kubeconfig` or `context` names, else the pod's own, else that of KUBECONFIG or ~/.kube/config.

    Raises AccessError.
    """
    if not (kubeconfig or context) and "KUBERNETES_SERVICE_HOST" in os.environ and "KUBECONFIG" not in os.environ:
        return _service_account()
    return await _kubeconfig(kubeconfig, context)


def _service_account() -> Access:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    return Access(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        ca_path=str(_SERVICE_ACCOUNT / "ca.crt"),
        certificate_path=None,
        private_key_path=None,
        verify_tls=True,
        tls_server_name=None,
        proxy_url=None,
        authorization=_service_account_token,
    )


async def _service_account_token() -> str:
    """Read the token anew each time: the kubelet replaces it within the hour."""
    try:
        token = (_SERVICE_ACCOUNT / "token").read_text(encoding="ascii")
    except OSError as error:
        raise AccessError(f"the service account's token cannot be read: {error}") from error
    return f"Bearer {token.strip()}"


async def _kubeconfig(kubeconfig: str, context: str) -> Access:
    try:
        from kubernetes.aio.client.configuration import Configuration  # noqa: PLC0415 - see the module's docstring
        from kubernetes.aio.config import ConfigException, load_kube_config  # noqa: PLC0415 - likewise
    except ImportError as error:
        raise AccessError("a kubeconfig needs the Kubernetes client: pip install 'sshload[cli]'") from error
    configuration = Configuration()
    try:
        await load_kube_config(
            config_file=kubeconfig or None,
            context=context or None,
            client_configuration=configuration,
            persist_config=False,
        )
    except ConfigException as error:
        raise AccessError(str(error)) from error

    async def authorization() -> str:
        return await configuration.get_api_key_with_prefix("BearerToken") or ""

    return Access(
        server=configuration.host,
        ca_path=configuration.ssl_ca_cert,
        certificate_path=configuration.cert_file,
        private_key_path=configuration.key_file,
        verify_tls=configuration.verify_ssl,
        tls_server_name=configuration.tls_server_name,
        proxy_url=configuration.proxy,
        authorization=authorization,
    )
