import json
from pathlib import Path
from typing import Any

import pytest
from baselines import finished, slower
from sshload_operator.api.kinds import TEST as TEST_KIND
from sshload_operator.api.load_test_file import Document, read_finished_test
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.local.credentials import Credentials
from sshload_operator.local.files import OwnFiles
from sshload_operator.local.run import LocalOptions, run_locally
from sshload_operator.local.sshd import LocalRunError

TEST: dict[str, Any] = {
    "apiVersion": "sshload.dev/v1alpha1",
    "kind": "SSHLoadTest",
    **finished(slower(1.0)),
}


def test_what_a_run_printed_is_read_back_whole(tmp_path: Path) -> None:
    file = tmp_path / "before.json"
    file.write_text(json.dumps(TEST))
    assert read_finished_test(file) == json.loads(json.dumps(TEST))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("verdict    Passed", "is not JSON", id="the table"),
        pytest.param("[]", "is no SSHLoadTest", id="a list"),
        pytest.param(json.dumps({**TEST, "kind": "SSHLoadTestSchedule"}), "is no SSHLoadTest", id="another kind"),
        pytest.param(json.dumps({**TEST, "status": None}), "has no name, spec or status", id="not run"),
        pytest.param(json.dumps({**TEST, "metadata": {}}), "has no name, spec or status", id="no name"),
    ],
)
def test_what_is_no_finished_test_is_refused_with_the_way_to_get_one(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "before.json"
    file.write_text(text)
    with pytest.raises(SpecError, match=problem) as raised:
        read_finished_test(file)
    assert str(file) in str(raised.value)
    assert "sshload run -o json" in str(raised.value)


def test_a_baseline_that_no_threshold_is_within_is_refused_before_anything_runs(tmp_path: Path) -> None:
    spec = {name: value for name, value in TEST["spec"].items() if name != "baseline"}
    document = Document(TEST_KIND, "after", "", {**spec, "thresholds": [{"errorRate": {"below": "1%"}}]})
    own = OwnFiles(test=tmp_path / "test.yaml", target=Credentials(), via={}, files={})
    options = LocalOptions(own, (), baseline=TEST, logs=None, note=print, progress=lambda *_: None)
    with pytest.raises(LocalRunError, match="--baseline is given, and the test does not use it"):
        run_locally(document, options)
