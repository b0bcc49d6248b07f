"""The spec of an SSHLoadTestComparison, as it is written, to a ComparisonSpec: strictly, with the CRD's defaults.

What the patches make of the base is known here only: the CRD sees the base and each patch, but not their sum.
"""

from collections.abc import Mapping
from typing import Any

from sshload_operator.api.comparison.merge_patch import merged
from sshload_operator.api.comparison.spec import TEST_NAME_CHARACTERS, ComparisonSpec, Variant, test_name
from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse import check_name, parse
from sshload_operator.api.parse.fields import Fields
from sshload_operator.api.parse.readers import choice, flag, free_form, integer, items, mapping, text
from sshload_operator.api.spec import LoadTestSpec

MOST_TESTS = 200
_REPEATS = 5
_VARIANTS = (2, 10)
_NAME = text(
    longest=20,
    shortest=1,
    pattern="[a-z0-9]([-a-z0-9]*[a-z0-9])?",
    wanted="lower-case letters, digits and hyphens, beginning and ending with a letter or digit",
)
_PATHS = items(
    text(
        longest=200,
        pattern=r"[A-Za-z][A-Za-z0-9]*(\.[A-Za-z][A-Za-z0-9]*)*",
        wanted="the path of a field, such as load.arrivals",
    ),
    most=20,
)
# What a test of a comparison must not have of its own, and what has its place.
_NOT_A_TESTS: Mapping[str, str] = {
    "abort": "spec.abort ends the whole comparison",
    "suspend": "the tests of a comparison run one after the other",
    "ttlAfterFinished": "the tests are kept as long as the comparison, which needs their figures",
    "baseline": "the tests are compared with each other",
}


def parse_comparison(name: str, body_spec: Mapping[str, Any]) -> ComparisonSpec:
    """Return the values of what stands under `spec` in the comparison `name`; raises SpecError naming the field."""
    fields = Fields(body_spec, "spec")
    base = fields.required("base", mapping)
    _check_base(base)
    spec = ComparisonSpec(
        variants=fields.required("variants", items(_variant_of(base), least=_VARIANTS[0], most=_VARIANTS[1])),
        repeats=fields.defaulted("repeats", integer(1, 50), _REPEATS),
        abort=fields.defaulted("abort", flag, default=False),
    )
    fields.defaulted("order", choice("interleaved"), "interleaved")
    fields.end()
    _check_variants(spec)
    _check_names(name, spec)
    return spec


def _check_base(base: Mapping[str, Any]) -> None:
    for field, why in _NOT_A_TESTS.items():
        if _is_set(base.get(field)):
            raise SpecError(f"spec.base.{field}", f"must not be set: {why}")
    try:
        parse(base)
    except SpecError as error:
        raise SpecError(error.path.replace("spec", "spec.base", 1), error.problem) from error


def _is_set(value: Any) -> bool:
    """Tell whether a field says anything but its default: false, or an empty object."""
    return value not in (None, False, {})


def _variant_of(base: Mapping[str, Any]) -> Any:
    """Return a reader of a variant of this base."""

    def read(value: Any, path: str) -> Variant:
        fields = Fields(value, path)
        name = fields.required("name", _NAME)
        patch = fields.defaulted("patch", free_form, {})
        remove = fields.defaulted("remove", _PATHS, [])
        fields.end()
        for field, why in _NOT_A_TESTS.items():
            if field in patch:
                raise SpecError(f"{path}.patch.{field}", f"must not be set: {why}")
        body = merged(_without(base, remove, f"{path}.remove"), patch)
        return Variant(name, body, _patched(body, name, path))

    return read


def _without(base: Mapping[str, Any], remove: tuple[str, ...], path: str) -> Mapping[str, Any]:
    """Return the base without these fields, which must be there: a path that is misspelt would change nothing."""
    for index, field in enumerate(remove):
        if remove.index(field) != index:
            raise SpecError(f"{path}[{index}]", f"{field} stands twice")
        found: Any = base
        for name in field.split("."):
            found = found.get(name) if isinstance(found, Mapping) else None
        if found is None:
            raise SpecError(f"{path}[{index}]", f"the base has no field {field}")
    for field in remove:
        taken: Any = None
        for name in reversed(field.split(".")):
            taken = {name: taken}
        base = merged(base, taken)
    return base


def _patched(body: Mapping[str, Any], name: str, path: str) -> LoadTestSpec:
    try:
        return parse(body)
    except SpecError as error:
        problem = f"makes an invalid test of variant {name}: {error.path}: {error.problem}"
        raise SpecError(f"{path}.patch", problem) from error


def _check_variants(spec: ComparisonSpec) -> None:
    seen: set[str] = set()
    for index, variant in enumerate(spec.variants):
        if variant.name in seen:
            raise SpecError(f"spec.variants[{index}].name", f"{variant.name} stands twice")
        seen.add(variant.name)
    tests = spec.repeats * len(spec.variants)
    if tests > MOST_TESTS:
        raise SpecError("spec.repeats", f"times the variants makes {tests} tests, and at most {MOST_TESTS} can be kept")


def _check_names(name: str, spec: ComparisonSpec) -> None:
    check_name(name)
    longest = max((test_name(name, spec.repeats, variant.name) for variant in spec.variants), key=len)
    if len(longest) > TEST_NAME_CHARACTERS:
        raise SpecError(
            "metadata.name",
            f"makes tests' names as long as {longest} ({len(longest)} characters, and {TEST_NAME_CHARACTERS} is the"
            " most): shorten it, or the variants' names",
        )
