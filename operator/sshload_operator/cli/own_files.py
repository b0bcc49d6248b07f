"""The files that a command line names in place of Secrets and ConfigMaps."""

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace

from sshload_operator.cli.arguments import VIA_OPTIONS
from sshload_operator.local.credentials import Credentials
from sshload_operator.local.files import OwnFiles


def own_files(arguments: Namespace) -> OwnFiles:
    """Return the files that the arguments of `sshload run` name."""
    return OwnFiles(
        test=arguments.file,
        target=Credentials(**{_field(option): getattr(arguments, _field(option)) for option in VIA_OPTIONS}),
        via=_by_host(arguments),
        locustfile=arguments.locustfile,
    )


def _by_host(arguments: Namespace) -> Mapping[str, Credentials]:
    found: dict[str, Credentials] = {}
    for option in VIA_OPTIONS:
        for host, file in getattr(arguments, f"via_{_field(option)}"):
            found[host] = replace(found.get(host, Credentials()), **{_field(option): file})
    return found


def _field(option: str) -> str:
    return option.replace("-", "_")
