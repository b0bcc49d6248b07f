import pytest
import schemathesis
from gateway_process import Caller
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

pytestmark = pytest.mark.xdist_group("gateway")

_EXAMPLES = 15


def test_the_gateway_does_what_its_openapi_document_says(caller: Caller) -> None:
    schema = schemathesis.openapi.from_url(f"{caller.url}/openapi.json")
    headers = {"Authorization": f"Bearer {caller.token}"}
    operations = [operation.ok() for operation in schema.get_all_operations()]
    assert len(operations) == 6
    for operation in operations:
        _holds(operation.as_strategy(), headers)


def _holds(cases: SearchStrategy[schemathesis.Case], headers: dict[str, str]) -> None:
    """Draw requests to one operation, and fail where an answer is not as the document says."""

    @settings(
        max_examples=_EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases)
    def keeps_its_word(case: schemathesis.Case) -> None:
        case.call_and_validate(headers=headers)

    keeps_its_word()
