"""RFC 7396, by its own table of examples (appendix A)."""

from typing import Any

import pytest
from sshload_operator.api.comparison.spec import merged

EXAMPLES = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("target", "patch", "result"), [pytest.param(*row, id=str(row[1])) for row in EXAMPLES])
def test_a_patch_merges_as_the_standards_examples_say(target: Any, patch: Any, result: Any) -> None:
    assert merged(target, patch) == result


def test_the_target_is_left_as_it_was() -> None:
    target = {"a": {"b": 1, "c": 2}}
    merged(target, {"a": {"b": None, "c": 3}})
    assert target == {"a": {"b": 1, "c": 2}}
