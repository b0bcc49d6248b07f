import time
from pathlib import Path

import pytest
from sshload_operator.api.load_test_file import read_load_tests, read_objects
from sshload_operator.api.shapes.errors import SpecError

TEST = """\
apiVersion: sshload.dev/v1alpha1
kind: SSHLoadTest
metadata: {name: one, namespace: tests}
spec: {load: 1}
"""
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "test.yaml"
    path.write_text(text)
    return path


def test_a_test_is_read_with_its_spec_as_written(tmp_path: Path) -> None:
    (test,) = read_load_tests(written(tmp_path, TEST))
    assert (test.name, test.namespace, test.spec) == ("one", "tests", {"load": 1})


def test_other_kinds_and_empty_documents_are_passed_over(tmp_path: Path) -> None:
    tests = read_load_tests(written(tmp_path, f"{SECRET}---\n---\n{TEST}---\n{TEST.replace('one', 'two')}"))
    assert [test.name for test in tests] == ["one", "two"]


@pytest.mark.parametrize(
    ("text", "path", "problem"),
    [
        pytest.param(SECRET, "", "no SSHLoadTest", id="no test"),
        pytest.param("", "", "no SSHLoadTest", id="empty file"),
        pytest.param("- 1\n", "", "is a list, expected an object", id="a list"),
        pytest.param("kind: SSHLoadTest\n", "apiVersion", "missing", id="no apiVersion"),
        pytest.param(TEST.replace("v1alpha1", "v9"), "apiVersion", "expected sshload.dev/v1alpha1", id="version"),
        pytest.param(TEST.replace("SSHLoadTest", "SSHLoadtest"), "kind", "expected SSHLoadTest", id="kind"),
        pytest.param(TEST + "spce: {}\n", "spce", "unknown field", id="unknown field"),
        pytest.param(TEST.replace("name: one", "nmae: one"), "metadata.name", "missing", id="no name"),
        pytest.param(TEST.replace("name: one", "name: One"), "metadata.name", "is 'One'", id="upper case"),
        pytest.param(TEST.replace("name: one", f"name: {'x' * 254}"), "metadata.name", "at most 253", id="long name"),
        pytest.param(TEST.replace("spec: {load: 1}", "spec: 3"), "spec", "is a int", id="spec is a number"),
        pytest.param(TEST.replace("spec: {load: 1}", ""), "spec", "missing", id="no spec"),
        pytest.param(TEST + "kind: SSHLoadTest\n", "", "line 5: the key 'kind' is repeated", id="key twice"),
        pytest.param("a: [1,\n", "", "not YAML: line 2", id="broken YAML"),
        pytest.param("a: \x07\n", "", "not YAML", id="control character"),
        pytest.param("? [1]\n: 2\n", "", "not YAML", id="a list as key"),
        pytest.param("a: 2026-99-99\n", "", "not YAML", id="a date that is none"),
        pytest.param("a: !!timestamp soon\n", "", "line 1: 'soon' is no timestamp", id="no date with the tag of one"),
        pytest.param("a: !!bool maybe\n", "", "line 1: 'maybe' is no bool", id="no truth with the tag of one"),
        pytest.param("a: !!int ''\n", "", "line 1: '' is no int", id="no number with the tag of one"),
        pytest.param("a: !!float _\n", "", "line 1: '_' is no float", id="no digit with the tag of a number"),
        pytest.param("a: !!map [b]\n", "", "line 1: expected a mapping", id="a list with the tag of a mapping"),
        pytest.param(f"a: {'9' * 5_000}\n", "", "not YAML", id="more digits than Python reads"),
        pytest.param(f"a: {'[' * 1_000}\n", "", "not YAML", id="nested without end"),
        pytest.param(
            'a: "\\uD800"\n', "", "not YAML: line 1: a text has half of a surrogate pair", id="half a character"
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, path: str, problem: str) -> None:
    with pytest.raises(SpecError) as raised:
        read_load_tests(written(tmp_path, text))
    assert raised.value.path == path
    assert problem in raised.value.problem


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        ("SSHLoadTestSchedule", ["kubectl apply", "spec.testTemplate.spec"]),
        ("SSHLoadTestComparison", ["sshload compare -f", "sshload compare NAME"]),
    ],
)
def test_what_only_a_cluster_runs_is_no_test_and_says_what_to_do(tmp_path: Path, kind: str, advice: list[str]) -> None:
    other = TEST.replace("SSHLoadTest", kind)
    with pytest.raises(SpecError) as raised:
        read_load_tests(written(tmp_path, other))
    for word in (f"no SSHLoadTest in it, but an {kind}", *advice):
        assert word in raised.value.problem
    (test,) = read_load_tests(written(tmp_path, f"{other}---\n{TEST}"))
    assert test.kind.name == "SSHLoadTest"


def test_objects_of_all_kinds_are_read_in_their_order(tmp_path: Path) -> None:
    kinds = ["SSHLoadTestComparison", "SSHLoadTest", "SSHLoadTestSchedule"]
    text = "---\n".join([SECRET, *(TEST.replace("SSHLoadTest", kind) for kind in kinds)])
    assert [one.kind.name for one in read_objects(written(tmp_path, text))] == kinds


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "binary"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="not YAML"):
        read_load_tests(path)


def test_a_yaml_merge_is_no_key_that_stands_twice(tmp_path: Path) -> None:
    merged = TEST.replace("spec: {load: 1}", "spec:\n  a: &a {x: 1}\n  b: {<<: *a, x: 2}")
    (test,) = read_load_tests(written(tmp_path, merged))
    assert test.spec["b"] == {"x": 2}


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(
            "\n".join(
                f"  m{level}: &m{level} {{<<: [{', '.join([f'*m{level - 1}'] * 10)}]}}" if level else "  m0: &m0 {x: 1}"
                for level in range(10)
            ),
            id="mappings that merge each other",
        ),
        pytest.param(
            "\n".join(f"  m{at}: &m{at} {{{f'<<: *m{at - 1}, ' if at else ''}k{at}: 1}}" for at in range(2_000)),
            id="a chain of merges",
        ),
        pytest.param(f"  long: 1{':59' * 400_000}", id="a number in base 60"),
        pytest.param(f"  long: 1{':59' * 400_000}.0", id="a number in base 60 with a fraction"),
    ],
)
def test_a_short_text_that_takes_long_to_read_is_refused(tmp_path: Path, spec: str) -> None:
    began_s = time.process_time()
    with pytest.raises(SpecError, match=r"not YAML: line \d+: (the merge keys|a number) "):
        read_load_tests(written(tmp_path, TEST.replace("spec: {load: 1}", f"spec:\n{spec}")))
    assert time.process_time() - began_s < 30
