"""What the runner of the test layers prepares in the background, and the services that it keeps for a layer."""

import os
import sys
from pathlib import Path

import pytest
from run_tests import run_layer
from testing.layers import CLUSTER_PROGRAMS, HELM, LAYERS, NEEDS, Layer, Need, Service
from testing.preparation import Preparation, PreparationError, serving
from testing.table import counts

SERVES = "import sys; print('PORT=80', flush=True); sys.stdin.read(); open(sys.argv[1], 'w').close()"


def shell(name: str, line: str) -> Need:
    return Need(name, ("sh", "-c", line))


def prepared(*needs: Need) -> Preparation:
    preparation = Preparation(needs)
    preparation.start()
    return preparation


def test_a_need_has_the_variables_of_those_before_it_and_hands_on_its_own() -> None:
    first, second = shell("first", "echo A=1; echo some words"), shell("second", "echo \"B='$A 2'\"")
    environment = prepared(first, second).environment([first, second])
    assert (environment["A"], environment["B"]) == ("1", "1 2")


def test_a_layer_has_the_variables_of_what_it_needs_and_no_others() -> None:
    """The API server of the oldest Kubernetes is for those tests alone."""
    first, second = shell("first", "echo A=1"), shell("second", "echo B=2")
    environment = prepared(first, second).environment([second])
    assert ("A" in environment, environment["B"]) == ("A" in os.environ, "2")


def test_a_need_that_fails_fails_only_what_needs_it() -> None:
    broken, sound = shell("broken", "echo the reason >&2; exit 3"), shell("sound", "true")
    preparation = prepared(broken, sound)
    assert preparation.environment([sound])
    with pytest.raises(PreparationError, match=r"preparing broken failed: .*exit status 3") as failed:
        preparation.environment([broken])
    assert failed.value.output == "the reason\n"


def test_a_layer_whose_needs_only_root_can_prepare_is_left_to_root_and_fails_nothing() -> None:
    """It is counted and named, as single tests that need root are."""
    need = shell("cluster", "echo no sudo >&2; exit 77")
    outcome = run_layer(Layer("e2e", 1, 1, 1, (need,)), prepared(need))
    assert (outcome.failures, outcome.need_root) == ((), ("e2e: preparing cluster needs root",))
    assert counts([outcome]) == "0 passed, 0 failed, 1 not run: they need root"


def test_every_need_is_named_once_in_the_closing_table() -> None:
    assert len({need.name for need in NEEDS}) == len(NEEDS)


def test_what_layers_need_is_prepared_and_nothing_else_is() -> None:
    assert set(NEEDS) == {need for layer in LAYERS for need in layer.needs}


def test_helm_is_not_compiled_by_itself_where_the_programs_of_the_cluster_are_compiled() -> None:
    """They include it. Where there is Docker, end-to-end tests need neither: the cluster's preparation names a helm."""
    needs = {layer.name: set(layer.needs) for layer in LAYERS}
    assert NEEDS.index(CLUSTER_PROGRAMS) < NEEDS.index(HELM)
    assert {CLUSTER_PROGRAMS, HELM} <= needs["integration"]
    assert not {CLUSTER_PROGRAMS, HELM} & needs["e2e"]


def test_a_service_hands_over_its_variable_and_ends_with_its_layer(tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    service = Service("server", (sys.executable, "-c", SERVES, str(ended)))
    with serving([service], {"A": "1"}) as environment:
        assert environment == {"A": "1", "PORT": "80"}
    assert ended.exists()


def test_a_service_that_does_not_start_fails_its_layer() -> None:
    service = Service("server", ("sh", "-c", "exit 2"))
    with pytest.raises(PreparationError, match="server did not start: exit code 2"), serving([service], {}):
        pass
