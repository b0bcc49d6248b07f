import pytest
import requests
from account_server import Place
from gateway_process import gateway_process
from postgres_server import PASSWORD, PostgresServer
from running_target import wait_until
from ssh_server import SshServer

pytestmark = pytest.mark.xdist_group("gateway")


def test_a_database_that_goes_and_comes_back_is_waited_for(
    place: Place, sshd: SshServer, postgres: PostgresServer
) -> None:
    postgres.empty()
    folder = place.folder / "gateway-of-postgres"
    folder.mkdir()
    (folder / "url").write_text(postgres.url)
    with gateway_process(folder, [sshd.port], database={"urlFile": str(folder / "url"), "answerS": 60}) as gateway:
        caller = gateway.caller()
        caller.store("server", sshd).raise_for_status()
        assert caller.run("server", "true").status_code == 200
        postgres.stop()
        try:
            gone = caller.run("server", "true")
            assert (gone.status_code, gone.json()["kind"]) == (503, "database")
            assert int(gone.headers["Retry-After"]) >= 1
            assert caller.store("other", sshd).status_code == 503
            assert gateway.ready().status_code == 503
            assert requests.get(f"{gateway.management}/healthz", timeout=300).status_code == 200
        finally:
            postgres.start()
        wait_until(lambda: gateway.ready().ok, "the gateway is ready again")

        assert caller.run("server", "echo back").json()["stdout"] == "back\n"
        assert PASSWORD not in gateway.log
