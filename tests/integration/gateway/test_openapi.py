import pytest
import schemathesis
from gateway_process import Caller
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy, one_of
from schemathesis import Case, GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance
from ssh_server import SshServer

pytestmark = pytest.mark.xdist_group("gateway")

_EXAMPLES = 15
_WITHIN_S = 300
_MORE_THAN_A_SCHEMA_SAYS = [positive_data_acceptance]
"""A private key and a host key are texts in the document, and only some texts are keys."""


def test_the_gateway_does_what_its_openapi_document_says(caller: Caller, harmless: SshServer) -> None:
    schema = schemathesis.openapi.from_url(f"{caller.url}/openapi.json")
    operations = [operation.ok() for operation in schema.get_all_operations()]
    assert len(operations) == 7
    for operation in operations:
        any_name = (operation.as_strategy(mode) for mode in GenerationMode)
        _holds(one_of(*any_name), caller)
        if "{credential}" in operation.path:
            caller.store("harmless", harmless).raise_for_status()
            _holds(operation.as_strategy(path_parameters={"credential": "harmless"}), caller)


def _holds(cases: SearchStrategy[Case], caller: Caller) -> None:
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
    def keeps_its_word(case: Case) -> None:
        headers = {"Authorization": f"Bearer {caller.token}"}
        case.call_and_validate(headers=headers, timeout=_WITHIN_S, excluded_checks=_MORE_THAN_A_SCHEMA_SAYS)

    keeps_its_word()
