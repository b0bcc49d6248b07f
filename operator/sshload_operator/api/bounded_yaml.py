"""YAML's safe subset, bounded: a short text must not take long to read."""

from typing import Any, Final

import yaml
from sshload_contract.shortened import shortened

_MOST_MERGED_PAIRS: Final = 100_000
_LONGEST_NUMBER: Final = 400
_SHOWN_CHARACTERS: Final = 60
_NUMBERS: Final = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


class BoundedLoader(yaml.SafeLoader):
    """PyYAML's loader with bounds for what takes it more time than the text is long.

    Merge keys (`<<`) copy the pairs of one mapping into another, so mappings that merge each other repeatedly grow
    exponentially. The time for a number in base 60 (1:59:59) grows with the square of its length. What exceeds a bound
    raises ConstructorError.
    """

    _merges: int = 0
    _merged_pairs: int = 0

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Replace the merge keys of a mapping by the pairs that they stand for."""
        self._merges += 1
        super().flatten_mapping(node)
        self._merges -= 1
        if self._merges:  # the pairs are about to be copied into another mapping
            self._merged_pairs += len(node.value)
        if self._merged_pairs > _MOST_MERGED_PAIRS:
            problem = f"the merge keys (<<) copy more than {_MOST_MERGED_PAIRS} pairs: write the mappings out"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: FBT001, FBT002 - PyYAML's own signature
        """Return the value of a node. PyYAML trusts that what has a tag (!!bool) is written as the tag says."""
        try:
            return super().construct_object(node, deep=deep)
        except (AttributeError, LookupError, TypeError, ValueError, OverflowError):
            written = shortened(str(node.value), _SHOWN_CHARACTERS)
            problem = f"{written!r} is no {node.tag.removeprefix('tag:yaml.org,2002:')}"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from None

    def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> Any:
        """Return the text of a scalar."""
        value = super().construct_scalar(node)
        if node.tag in _NUMBERS and len(value) > _LONGEST_NUMBER:
            problem = f"a number has more than {_LONGEST_NUMBER} characters: write a text in quotation marks"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        return value
