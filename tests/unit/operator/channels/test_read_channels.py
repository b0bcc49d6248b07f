"""What the chart writes of each channel."""

import pytest
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.control.channels import read_channels
from sshload_operator.control.channels.ends import EndEvent
from sshload_operator.control.channels.webhook import Webhook


def test_a_webhook_is_read_with_its_events_and_namespaces() -> None:
    url = "https://hooks.example.com:8443/a?b=c"
    written = {"url": url, "events": ["test", "schedule"], "namespaces": ["team"], "maxAge": "2h"}
    events = (EndEvent.TEST, EndEvent.SCHEDULE)
    known = Webhook(url=url, events=events, namespaces=("team",), max_age_s=7200.0)
    assert read_channels({"webhook": written}) == {"webhook": known}


@pytest.mark.parametrize(
    "url",
    [
        "ftp://hooks.example.com/",
        "https://",
        "https:///path",
        "https://user:S3CRET@hooks.example.com/",
        "https://S3CRET@hooks.example.com/",
        "https://hooks.example.com:S3CRET/",
        "https://hooks.example.com:0/",
        "https://[S3CRET/",
        "https://hooks.example.com/ S3CRET",
        "",
    ],
)
def test_a_url_of_a_webhook_that_is_wrong_is_refused_in_words_without_it(url: str) -> None:
    with pytest.raises(SpecError, match=r"channels\.webhook\.url") as refused:
        read_channels({"webhook": {"url": url, "events": ["test"]}})
    assert "S3CRET" not in str(refused.value)


def test_a_channel_that_there_is_not_is_refused() -> None:
    with pytest.raises(SpecError, match=r"channels: has no .pigeon.: the channels are webhook, slack"):
        read_channels({"pigeon": {}})
