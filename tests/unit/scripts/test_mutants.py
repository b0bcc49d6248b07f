"""The changes that make mutants, and what is declared about them: by small modules, and by the files that there are."""

import ast
import tomllib
from pathlib import Path

import pytest
from importing_tests import PRODUCT, importing
from mutant_changes import Module
from mutants import judged, named
from nearest_tests import MUTATED, NEAREST, nearest

ROOT = Path(__file__).parents[3]
IN_PROCESSES_OF_THEIR_OWN = (
    *(f"operator/sshload_operator/cli/{name}.py" for name in ("advise", "validate", "cluster/apply", "cluster/manage")),
    "workers/sshload_worker/locustfile/__init__.py",
    *(f"targets/sshload_target/{name}.py" for name in ("__main__", "prepare", "in_path/__main__")),
    "targets/sshload_target/sshd/revocation.py",
    "targets/sshload_target/system/shared_fixtures.py",
    "gateway/sshload_gateway/command.py",
    *(f"gateway/sshload_gateway/store/migrations/{name}.py" for name in ("env", "versions/0001_credentials")),
)
EQUIVALENT = tomllib.loads((ROOT / "tests/mutants/equivalent.toml").read_text(encoding="utf-8"))


def changes(tmp_path: Path, text: str) -> list[str]:
    """Return the changes of a function with this body, each as the line that it makes."""
    path = tmp_path / "module.py"
    path.write_text(f"def f(a, b, c):\n    {text}\n", encoding="utf-8")
    return [mutant.becomes for mutant in Module(path).mutants()]


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        pytest.param("return a < b", ["return None", "return a <= b"], id="a limit"),
        pytest.param("a.b = c", ["pass"], id="what is kept"),
        pytest.param("a.close()", ["pass"], id="what is given back"),
        pytest.param("a = b", [], id="a local name"),
        pytest.param("a.n += 1", ["pass", "a.n -= 1", "a.n += 2"], id="a count"),
        pytest.param("return a.popleft()", ["return None", "return a.pop()"], id="whose turn it is"),
        pytest.param("a.b, a.c = 0, c", ["pass", "a.c, = (c,)", "a.b, = (0,)", "a.b, a.c = (1, c)"], id="two at once"),
        pytest.param(
            "return a or b", ["return None", "return a and b", "return a", "return b"], id="one condition of two"
        ),
        pytest.param("raise ValueError(f'{a + 1}')", ["pass"], id="an error, whatever it says"),
        pytest.param("_LOG.info('it has %s', a + 1)", [], id="a line of the log"),
        pytest.param("'what it does'", [], id="a docstring"),
        pytest.param("raise NotImplementedError", [], id="what is abstract"),
        pytest.param("del a, b", [], id="local names"),
        pytest.param(
            "return (a.uid, b) == (c.uid, b)",
            ["return None", "return (b,) == (b,)", "return (a.uid,) == (c.uid,)", "return (a.uid, b) != (c.uid, b)"],
            id="an identity",
        ),
        pytest.param(
            "return max(x for x in a if x.is_free)",
            ["return None", "return min((x for x in a if x.is_free))", "return max((x for x in a))"],
            id="which of several",
        ),
    ],
)
def test_a_change_is_one_that_a_person_could_make_by_mistake(tmp_path: Path, text: str, becomes: list[str]) -> None:
    assert sorted(changes(tmp_path, text)) == sorted(becomes)


@pytest.mark.slow
def test_a_module_is_left_as_it_was_and_each_mutant_can_be_compiled() -> None:
    path = ROOT / "gateway/sshload_gateway/ssh/lane.py"
    module = Module(path)
    before = ast.dump(module.tree)
    for mutant in module.mutants():
        undo = mutant.make()
        compile(ast.fix_missing_locations(module.tree), str(path), "exec")
        undo()
    assert ast.dump(module.tree) == before


def test_the_modules_and_the_tests_that_are_declared_are_there() -> None:
    assert [path for entry in NEAREST.items() for path in (entry[0], *entry[1]) if not (ROOT / path).exists()] == []
    assert len(MUTATED) == len(NEAREST)


def test_the_nearest_tests_are_those_of_the_longest_path() -> None:
    objects, turns = (nearest(f"operator/sshload_operator/control/{name}.py") for name in ("live/objects", "turns"))
    assert set(objects) < set(nearest("operator/sshload_operator/control/live/kinds.py"))
    assert not set(turns) & set(objects)


@pytest.mark.parametrize("path", EQUIVALENT)
def test_each_mutant_that_is_said_to_be_equivalent_is_one_of_the_present_code(path: str) -> None:
    there = {(one.within, one.was, one.becomes) for one in Module(ROOT / path).mutants()}
    assert [row for row in EQUIVALENT[path] if (row["within"], row["was"], row["becomes"]) not in there] == []
    assert all(row["why"].endswith(".") for row in EQUIVALENT[path])


@pytest.mark.parametrize("given", ["contract/sshload_contract/allow_lists.py", "scripts", "/etc", "../elsewhere"])
def test_a_file_that_no_mutant_is_made_of_is_refused_and_not_taken_for_all_of_them(given: str) -> None:
    with pytest.raises(SystemExit, match=f"^FILES: {given} has no module of the product that a test imports: name"):
        named(given)


@pytest.mark.slow
def test_of_a_folder_the_modules_that_tests_are_near_are_taken() -> None:
    files = named("operator/sshload_operator/control")
    assert "operator/sshload_operator/control/turns.py" in files
    assert all(nearest(file) for file in files)


@pytest.mark.slow
def test_mutants_end_in_processes_that_gevent_has_patched() -> None:
    rows = judged("workers/sshload_worker/coordination/connected_workers.py", r"note_message\(msg").rows
    assert {row["outcome"] for row in rows} <= {"killed", "survived"}


@pytest.mark.slow
def test_each_module_of_the_product_has_nearest_tests_unless_it_runs_in_processes_of_its_own() -> None:
    product = [str(path.relative_to(ROOT)) for folder in PRODUCT for path in (ROOT / folder).rglob("*.py")]
    alone = [
        path for path in product if (ROOT / path).read_text(encoding="utf-8").count("\n") > 1 and not nearest(path)
    ]
    assert sorted(alone) == sorted(IN_PROCESSES_OF_THEIR_OWN)


@pytest.mark.slow
def test_the_tests_that_import_a_module_come_first_and_then_those_that_import_what_imports_it() -> None:
    first, *others = importing("operator/sshload_operator/api/targets/external.py")
    assert first == "tests/unit/operator/parse/test_external.py"
    assert "tests/unit/operator/parse/test_managed.py" in others
    assert all(path.startswith("tests/unit/") for path in others)


@pytest.mark.slow
def test_of_a_module_that_no_unit_test_imports_other_tests_are_the_nearest() -> None:
    assert (
        importing("workers/sshload_worker/clients/ssh2/channel.py")[0]
        == "tests/integration/worker/test_ssh2_channel.py"
    )
