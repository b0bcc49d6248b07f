"""The channels that tell of the ends of runs. A channel is a module here and its line in `KINDS`."""

from collections.abc import Mapping
from typing import Any, Final

from sshload_operator.api.shapes.errors import SpecError, shown
from sshload_operator.api.shapes.reading import read
from sshload_operator.control.channels.channel import Channel
from sshload_operator.control.channels.slack import Slack
from sshload_operator.control.channels.webhook import Webhook

KINDS: Final[Mapping[str, type[Channel]]] = {"webhook": Webhook, "slack": Slack}
"""Each channel by its name: in the installation, in metrics and in annotations."""


def read_channels(written: Mapping[str, Any]) -> Mapping[str, Channel]:
    """Return the channels of an installation by their names; raises SpecError."""
    for name in written:
        if name not in KINDS:
            raise SpecError("channels", f"has no {shown(name)}: the channels are {', '.join(KINDS)}")
    return {name: read(KINDS[name], written[name], f"channels.{name}") for name in written}
