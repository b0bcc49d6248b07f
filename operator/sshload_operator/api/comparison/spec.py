"""The spec of an SSHLoadTestComparison: as it is written (`WrittenComparison`), and as values (`ComparisonSpec`).

What the patches make of the base is known to the parser only: the CRD sees the base and each patch, but not their sum.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Final

from sshload_contract.declared import Absent, Default, FreeForm, Items, Rule, Text, Whole, Words

from sshload_operator.api.comparison.sweep import FIELD_PATTERN, Sweep, sweep_of, value_text
from sshload_operator.api.load_test import parse
from sshload_operator.api.shapes.errors import Problem, SpecError, collect
from sshload_operator.api.shapes.reading import read
from sshload_operator.api.spec import LoadTestSpec

MOST_TESTS: Final = 200
MOST_VARIANTS: Final = 16
_LONGEST_NAME: Final = 20
_NAME: Final = Text(
    longest=_LONGEST_NAME,
    shortest=1,
    pattern="[a-z0-9]([-a-z0-9]*[a-z0-9])?",
    wanted="lower-case letters, digits and hyphens, beginning and ending with a letter or digit",
)

NOT_IN_TESTS: Final[Mapping[str, str]] = {
    "abort": "spec.abort ends the whole comparison",
    "suspend": "the tests of a comparison run one after the other",
    "ttlAfterFinished": "the tests are kept as long as the comparison, which needs their figures",
    "baseline": "the tests are compared with each other",
}
"""The fields that a test of a comparison must not set, and why."""

_SET_IN_CEL: Final = {
    "abort": "has(self.base.abort) && self.base.abort",
    "suspend": "has(self.base.suspend) && self.base.suspend",
    "ttlAfterFinished": "has(self.base.ttlAfterFinished)"
    " && (has(self.base.ttlAfterFinished.passed) || has(self.base.ttlAfterFinished.failed))",
    "baseline": "has(self.base.baseline)",
}
_WRONG_REFERENCE: Final = (
    "has(v.reference) && (v == self.variants[0] || v.reference == v.name"
    " || !self.variants.exists(o, o.name == v.reference))"
)


def _not_in_base(field: str, is_set: str) -> Rule:
    """Return the rule that the base does not set a field: to its default it may, which the API server fills in."""
    return Rule(
        f"!({is_set})",
        f"must not be set: {NOT_IN_TESTS[field]}",
        at=f".base.{field}",
    )


@dataclass(frozen=True, slots=True)
class Variant:
    """One of the sides: its name, the whole spec of its tests as it is written to them, and the same as values.

    `value` is that of the swept field, empty where no field is swept. `reference` is the variant that it is compared
    with, empty for the first one.
    """

    name: str
    body: Mapping[str, Any]
    spec: LoadTestSpec
    value: str = ""
    reference: str = ""


@dataclass(frozen=True, slots=True)
class ComparisonSpec:
    """A whole SSHLoadTestComparison spec. Each variant is compared with its reference, over `repeats` rounds.

    In every round each variant is tested once. `swept` is the field whose values the variants are, empty where they
    are written one by one.
    """

    variants: tuple[Variant, ...]
    repeats: int
    abort: bool
    swept: str = ""

    def reference_of(self, variant: Variant) -> str:
        """Return the name of the variant that this one is compared with: the first one's is itself."""
        return variant.reference or self.variants[0].name


@dataclass(frozen=True, slots=True)
class _WrittenVariant:
    """One variant."""

    name: Annotated[
        str,
        _NAME,
        "The variant's name. The names of its tests end with it.",
    ]
    patch: Annotated[
        Mapping[str, Any],
        FreeForm(),
        Absent({}),
        "The changes to the base, as a JSON merge patch (RFC 7396): objects are merged, a list is replaced as a"
        " whole, a field set to null is removed. But `kubectl apply` without --server-side drops every null before it"
        " reaches the API server: use remove. It must not set abort, suspend, ttlAfterFinished or baseline.",
    ]
    remove: Annotated[
        tuple[
            Annotated[
                str,
                Text(
                    longest=200,
                    pattern=r"[A-Za-z][A-Za-z0-9]*(\.[A-Za-z][A-Za-z0-9]*)*",
                    wanted="the path of a field, such as load.arrivals",
                ),
                "The path of a field.",
            ],
            ...,
        ],
        Items(most=20, distinct=True),
        Absent(()),
        "Fields of the base that are removed before the patch is merged, such as load.arrivals for a patch with"
        " load.burst.",
    ]
    reference: Annotated[
        str,
        Text(longest=_LONGEST_NAME),
        Absent(""),
        "The variant that it is compared with. Default: the first.",
    ]


@dataclass(frozen=True, slots=True)
class _WrittenSweep:
    """One field, with a variant for each of its values."""

    field: Annotated[
        str,
        Text(longest=200, shortest=1, pattern=FIELD_PATTERN, wanted="the path of a field, such as load.arrivals.rate"),
        "The path of the field in the base. The items of a list have their index, such as load.users.stages.0.users.",
    ]
    values: Annotated[
        str,
        Text(longest=200, shortest=1),
        f"Its values, 2 to {MOST_VARIANTS}: 10,20,40 or 10..90:10, which is 10 to 90 in steps of 10.",
    ]


@dataclass(frozen=True, slots=True)
class WrittenComparison:
    """What is compared."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.variants) != has(self.sweep)",
            "give either variants or sweep",
        ),
        Rule(
            f"!has(self.variants) || self.repeats * self.variants.size() <= {MOST_TESTS}",
            f"repeats times the number of variants must be at most {MOST_TESTS}",
            at=".repeats",
            explain=lambda comparison: (
                f"times the number of variants is {comparison.repeats * len(comparison.variants)}, but must be at"
                f" most {MOST_TESTS}"
            ),
        ),
        Rule(
            f"!has(self.variants) || !self.variants.exists(v, {_WRONG_REFERENCE})",
            "a reference must name another variant; the first variant has none",
            at=".variants",
            explain="'a reference must name another variant, and the first variant has none: the reference of '"
            f" + self.variants.filter(v, {_WRONG_REFERENCE})[0].name + ' is not valid'",
        ),
        *(_not_in_base(field, cel) for field, cel in _SET_IN_CEL.items()),
    )
    base: Annotated[Mapping[str, Any], FreeForm()]  # the CRD has the schema of a test's spec here
    variants: Annotated[
        tuple[_WrittenVariant, ...],
        Items(least=2, most=MOST_VARIANTS, key=("name",)),
        Absent(()),
        "What is compared.",
    ]
    sweep: Annotated[
        _WrittenSweep | None,
        "Instead of variants: one field, with a variant for each of its values. The others are compared with the"
        " first.",
    ]
    repeats: Annotated[
        int,
        Whole(1, 50, read_by_rule=True),
        Default(5),
        "The number of rounds. Each round has one test of every variant. A confidence interval needs three rounds.",
    ]
    order: Annotated[
        str,
        Words(("interleaved",)),
        Default("interleaved"),
        "The order of the tests. interleaved: in rounds. Each round begins with another variant (A B C, B C A, C A"
        " B), so that a drift over time affects all variants alike.",
    ]
    abort: Annotated[
        bool,
        Default(False),
        "True ends the comparison and the test that is under way. What was measured so far is kept. Set it to false"
        " to run the comparison again.",
    ]


def parse_comparison(body_spec: Mapping[str, Any]) -> ComparisonSpec:
    """Return the values of `body_spec`, which is what stands under `spec`; raises SpecError with all that is wrong."""
    problems: list[Problem] = []
    written = collect(lambda: read(WrittenComparison, body_spec, "spec"), problems)
    base = body_spec.get("base") if isinstance(body_spec, Mapping) else None
    if any(problem.path == "spec.base" for problem in problems):
        base = None
    parsed = collect(lambda: parse(base, "spec.base"), problems) if isinstance(base, Mapping) else None
    if written is None or parsed is None:
        raise SpecError.of(problems)
    swept = collect(lambda: _values_of(written.sweep, written.repeats), problems)
    if swept is None:
        raise SpecError.of(problems)
    made = [
        *(
            partial(_patched, written.base, one, f"spec.variants[{place}]")
            for place, one in enumerate(written.variants)
        ),
        *(partial(_at_value, written.base, swept, value, name) for name, value in named_values(swept.values)),
    ]
    variants = [collect(one, problems) for one in made]
    if problems:
        raise SpecError.of(problems)
    compared = tuple(one for one in variants if one is not None)
    return ComparisonSpec(compared, written.repeats, written.abort, swept.field)


def _values_of(written: _WrittenSweep | None, repeats: int) -> Sweep:
    """Return the sweep, an empty one if the spec has none."""
    if written is None:
        return Sweep((), ())
    top = written.field.partition(".")[0]
    if top in NOT_IN_TESTS:
        raise SpecError("spec.sweep.field", f"must not be {top}: {NOT_IN_TESTS[top]}")
    try:
        sweep = sweep_of(written.field, written.values, MOST_VARIANTS)
    except ValueError as error:
        raise SpecError("spec.sweep.values", f"are not valid: {error}") from error
    tests = repeats * len(sweep.values)
    if tests > MOST_TESTS:
        raise SpecError("spec.repeats", f"times the number of values is {tests}, but must be at most {MOST_TESTS}")
    return sweep


def named_values(values: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Yield each value with a name of its own that a label takes: 0.5 is 0-5. They are counted where names collide."""
    names = [re.sub("[^a-z0-9]+", "-", value_text(value).lower()).strip("-") for value in values]
    are_names = all(0 < len(name) <= _LONGEST_NAME for name in names) and len(set(names)) == len(names)
    counted = (f"v{number}" for number in range(1, len(names) + 1))
    yield from zip(names if are_names else counted, values, strict=True)


def _at_value(base: Mapping[str, Any], sweep: Sweep, value: Any, name: str) -> Variant:
    try:
        body = sweep.spec_at(base, value)
    except SpecError as error:
        raise SpecError("spec.sweep.field", error.problem) from error
    return _parsed(name, body, "spec.sweep", value_text(value))


def _patched(base: Mapping[str, Any], written: _WrittenVariant, path: str) -> Variant:
    for field, why in NOT_IN_TESTS.items():
        if field in written.patch:
            raise SpecError(f"{path}.patch.{field}", f"must not be set: {why}")
    body = merged(_without(base, written.remove, f"{path}.remove"), written.patch)
    return replace(_parsed(written.name, body, f"{path}.patch"), reference=written.reference)


def _parsed(name: str, body: Mapping[str, Any], path: str, value: str = "") -> Variant:
    try:
        return Variant(name, body, parse(body), value)
    except SpecError as error:
        raise SpecError(path, f"makes an invalid test of variant {name}: {error}") from error


def _without(base: Mapping[str, Any], remove: tuple[str, ...], path: str) -> Mapping[str, Any]:
    """Return the base without these fields, which must be there: a path that is misspelt would change nothing."""
    for index, field in enumerate(remove):
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


def merged(target: Any, patch: Any) -> Any:
    """Return `target` with `patch` merged into it; neither is changed.

    Objects are merged field by field, a field of null is taken away, and everything else, lists too, is replaced as a
    whole (RFC 7396, section 2).
    """
    if not isinstance(patch, Mapping):
        return patch
    found: dict[str, Any] = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = merged(found.get(name), value)
    return found
