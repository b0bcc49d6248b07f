"""The pages that the operator serves: a real operator, a real API server that decides who may read, a real browser."""

import json
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlencode

import finished_runs
import plans
import pytest
import reported
from accessibility import violations
from free_ports import free_port
from live_cluster import LiveCluster
from local_cli import wait_until
from metrics_readers import token_of, token_of_reader
from operator_process import OperatorProcess
from playwright.sync_api import BrowserContext, Page
from sshload_operator.manifests.results import results_config_map

Screenshot = Callable[[Page, str], None]
RUN = finished_runs.a_test()
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
UNTRUSTED = ssl.create_default_context()
UNTRUSTED.check_hostname, UNTRUSTED.verify_mode = False, ssl.CERT_NONE


@dataclass(frozen=True, slots=True)
class Served:
    """An operator with pages, and a token that may get those of all namespaces."""

    operator: OperatorProcess
    port: int
    token: str

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}/ui"

    def ask(
        self, path: str, token: str | None = None, method: str = "GET", body: str = "", **headers: str
    ) -> tuple[int, Mapping[str, str], str]:
        """Ask for a page; return status, headers and text."""
        given = self.token if token is None else token
        with closing(HTTPSConnection("127.0.0.1", self.port, timeout=60, context=UNTRUSTED)) as connection:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            login = {"Authorization": f"Bearer {given}"} if given else {}
            connection.request(method, path, body=body or None, headers={**login, **named})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()

    @contextmanager
    def stream(self, namespace: str, name: str) -> Iterator[HTTPResponse]:
        """Follow a test's events."""
        with closing(HTTPSConnection("127.0.0.1", self.port, timeout=60, context=UNTRUSTED)) as connection:
            headers = {"Authorization": f"Bearer {self.token}"}
            connection.request("GET", f"/ui/{namespace}/tests/{name}/events", headers=headers)
            yield connection.getresponse()


@pytest.fixture
def served(operator: OperatorProcess, cluster: LiveCluster) -> Iterator[Served]:
    """An operator that begins no run, so that statuses stay as a test writes them."""
    port = free_port()
    operator.more_arguments = ("--ui", f"--ui-port={port}")
    operator.more_of_installation = "paused: true\n"
    operator.start()
    with token_of_reader(cluster, "reader", "/ui", "/ui/*") as token:
        found = Served(operator, port, token)
        wait_until(lambda: found.ask("/ui")[0] == 200, "the rights of the reader")
        yield found


@pytest.fixture
def page(online: BrowserContext, served: Served) -> Page:
    """A page of a browser that is logged in; a complaint of the browser, or a request elsewhere, fails the test."""
    page = online.new_page()
    page.goto(served.url)
    page.get_by_label("Token").fill(served.token)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(served.url)
    return page


def write(cluster: LiveCluster, name: str, status: Mapping[str, Any]) -> None:
    cluster.change("slt", name, {"status": status}, "status")


def a_test(cluster: LiveCluster, name: str, status: Mapping[str, Any]) -> None:
    cluster.apply(
        {
            "apiVersion": "sshload.dev/v1alpha1",
            "kind": "SSHLoadTest",
            "metadata": {"name": name},
            "spec": RUN.spec,
        }
    )
    wait_until(
        lambda: cluster.get("slt", name).get("status", {}).get("phase") == "Pending", "the operator's own status"
    )
    write(cluster, name, status)


def finished(cluster: LiveCluster, name: str, **changes: Any) -> None:
    """Make a test that has ended, with the ConfigMap of its results."""
    assert RUN.summary is not None
    config_map = results_config_map(plans.plan(), RUN.summary)
    cluster.apply({**config_map, "metadata": {"name": f"{name}-results", "namespace": cluster.namespace}})
    a_test(cluster, name, {**RUN.status, "resultsConfigMap": f"{name}-results", **changes})


def under_way(elapsed_s: float, **progress: Any) -> dict[str, Any]:
    """Return the status of a run that is under way."""
    stands = {
        "stage": "measuring", "elapsedSeconds": elapsed_s, "remainingSeconds": 60 - elapsed_s, "workersConnected": 1,
        "users": 0, "inFlight": 2, "offeredRate": 20.0, "completedRate": 19.5, "iterations": int(elapsed_s * 20),
        "failures": 0, "recentP50Ms": 12.5, "p50Ms": 12.0, "errorPercent": 0.0, **progress,
    }  # fmt: skip
    return {"phase": "Running", "run": 1, "verdict": None, "message": "measuring", "progress": stands}


def complaints(page: Page) -> list[str]:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    return said


def see(served: Served, path: str, text: str) -> None:
    wait_until(lambda: text in served.ask(path)[2], f"{text} on {path}")


def test_only_who_may_get_the_path_reads_a_page(served: Served, cluster: LiveCluster) -> None:
    stranger = token_of(cluster, "stranger")
    statuses = [served.ask("/ui", token)[0] for token in ("", "no-token", stranger)]
    assert statuses == [401, 401, 403]
    for path in ("/ui/ns", "/ui/ns/tests/one", "/ui/ns/tests/one/events", "/ui/static/tests/one", "/other"):
        assert served.ask(path, "")[0] == 401, path
        assert served.ask(path, stranger)[0] == 403, path
    assert all(token not in served.operator.logs() for token in (served.token, stranger))


def test_who_may_read_one_namespace_reads_no_other(served: Served, cluster: LiveCluster) -> None:
    mine = f"/ui/{cluster.namespace}"
    with token_of_reader(cluster, "teammate", mine) as token:
        wait_until(lambda: served.ask(mine, token)[0] == 200, "the rights of the teammate")
        others = ("/ui", "/ui/other", "/ui/other/tests/one", f"{mine}%2f..%2fother")
        assert [served.ask(path, token)[0] for path in others] == [403] * len(others)
        assert served.ask(f"{mine}/../other", token)[0] == 404


def test_nothing_is_changed_by_a_request(served: Served, cluster: LiveCluster) -> None:
    finished(cluster, "one")
    see(served, "/ui", ">one<")
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        status, headers, _ = served.ask(f"/ui/{cluster.namespace}/tests/one", method=method)
        assert (status, headers["Allow"]) == (405, "GET,HEAD")
    assert cluster.exists("slt", "one")


def test_answers_may_not_be_framed_stored_or_fetch_from_elsewhere(served: Served) -> None:
    _, headers, _ = served.ask("/ui")
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert (headers["Cache-Control"], headers["X-Content-Type-Options"]) == ("no-store", "nosniff")


def test_a_session_is_a_cookie_that_scripts_and_other_sites_do_not_get_and_that_holds_no_token(
    served: Served, page: Page, online: BrowserContext
) -> None:
    (cookie,) = online.cookies()
    assert (cookie["httpOnly"], cookie["secure"], cookie["sameSite"]) == (True, True, "Strict")
    assert served.token not in cookie["value"]
    page.get_by_role("button", name="Log out").click()
    page.goto(served.url)
    assert page.get_by_label("Token").is_visible()
    assert served.ask("/ui", "", Cookie=f"{cookie['name']}={cookie['value']}")[0] == 401


def test_the_form_takes_no_token_of_another_site_and_leads_to_no_other_site(served: Served) -> None:
    asked = urlencode({"token": served.token, "next": "//elsewhere.example.com/ui"})
    status, headers, _ = served.ask("/ui/-/login", "", "POST", asked, **FORM)
    assert (status, headers["Location"]) == (303, "/ui")
    for header in ({"Origin": "https://elsewhere.example.com"}, {"Sec_Fetch_Site": "cross-site"}):
        assert served.ask("/ui/-/login", "", "POST", asked, **FORM, **header)[0] == 403
    status, _, text = served.ask("/ui/-/login", "", "POST", urlencode({"token": "nobody"}), **FORM)
    assert (status, "does not accept this token" in text) == (401, True)


def test_tests_are_listed_with_verdicts_and_lead_to_their_reports(
    served: Served, cluster: LiveCluster, page: Page, screenshot: Screenshot
) -> None:
    said = complaints(page)
    finished(cluster, "one")
    see(served, "/ui", ">one<")
    page.reload()
    assert violations(page) == ""
    screenshot(page, "served-list")
    reached = ""
    for _ in range(20):
        page.keyboard.press("Tab")
        reached = str(page.evaluate("document.activeElement.textContent"))
        if reached == "one":
            break
    assert reached == "one"
    page.keyboard.press("Enter")
    page.wait_for_selector("html[data-rendered]", state="attached")
    assert page.text_content("#verdict") == "Passed"
    assert page.locator('figure svg[aria-label^="Latency"]').count() == 1
    assert violations(page) == ""
    page.get_by_role("link", name="All tests").click()
    page.wait_for_url(f"{served.url}/{cluster.namespace}")
    assert said == []


def test_comparisons_and_schedules_have_pages(served: Served, cluster: LiveCluster, page: Page) -> None:
    comparison, (schedule, _) = reported.a_comparison("a", "b"), reported.a_schedule()
    of_group = {"apiVersion": "sshload.dev/v1alpha1"}
    spec = {**schedule.spec, "suspend": True}
    cluster.apply(
        {**of_group, "kind": "SSHLoadTestComparison", "metadata": {"name": "cmp"}, "spec": comparison.spec},
        {**of_group, "kind": "SSHLoadTestSchedule", "metadata": {"name": "hourly"}, "spec": spec},
    )
    see(served, "/ui", ">hourly<")
    cluster.change("slts", "hourly", {"status": {"trend": schedule.status["trend"], "lastVerdict": "Passed"}}, "status")
    see(served, "/ui", "4 runs, from")
    cluster.change("sltc", "cmp", {"status": {**comparison.status, "conditions": []}}, "status")
    for path, text in (("comparisons/cmp", "Conclusive"), ("schedules/hourly", "Passed")):
        see(served, f"/ui/{cluster.namespace}", text)
        page.goto(f"{served.url}/{cluster.namespace}/{path}")
        page.wait_for_selector("html[data-rendered]", state="attached")
        assert page.text_content("#verdict") == text
        name = (
            comparison.status["tests"][0]["test"]
            if path.startswith("comparisons")
            else schedule.status["trend"][0]["test"]
        )
        link = page.get_by_role("link", name=name, exact=True).first
        assert link.get_attribute("href") == f"/ui/{cluster.namespace}/tests/{name}"


def test_a_run_under_way_is_shown_live_and_becomes_its_report(
    served: Served, cluster: LiveCluster, page: Page, screenshot: Screenshot
) -> None:
    a_test(cluster, "one", under_way(10))
    see(served, "/ui", "Running (under way)")
    said = complaints(page)
    page.goto(f"{served.url}/{cluster.namespace}/tests/one")
    page.wait_for_selector("html[data-rendered]", state="attached")
    assert page.text_content("#state") == "Running"
    for elapsed_s in (20, 30):
        write(cluster, "one", under_way(elapsed_s, recentP50Ms=elapsed_s))
        page.locator("#course tr", has_text=str(elapsed_s)).first.wait_for(state="attached")
    assert violations(page) == ""
    screenshot(page, "served-live")
    write(cluster, "one", {**RUN.status, "progress": None})
    page.wait_for_selector("#verdict")
    assert page.text_content("#verdict") == "Passed"
    assert said == []


def test_the_events_of_a_run_end_with_it(served: Served, cluster: LiveCluster) -> None:
    a_test(cluster, "one", under_way(10))
    see(served, "/ui", "Running (under way)")
    with served.stream(cluster.namespace, "one") as events:
        first = events.readline() + events.readline()
        write(cluster, "one", RUN.status)
        rest = events.read().decode()
    assert first.startswith(b"event: whole")
    assert json.loads(first.partition(b"data: ")[2])["standing"]["completedRate"] == 19.5
    assert rest.rstrip().endswith("event: end\ndata: {}")


def test_hostile_texts_of_a_status_stay_text(served: Served, cluster: LiveCluster, page: Page) -> None:
    a_test(cluster, "one", {**under_way(10), "message": finished_runs.HOSTILE})
    see(served, "/ui", "onerror")
    for path in ("", f"/{cluster.namespace}/tests/one"):
        page.goto(f"{served.url}{path}")
        page.get_by_text(finished_runs.HOSTILE).first.wait_for()
        assert page.evaluate("typeof window.hostile") == "undefined"
        assert page.locator("img").count() == 0


def test_a_results_config_map_that_is_a_bomb_costs_its_page_and_nothing_else(
    served: Served, cluster: LiveCluster
) -> None:
    finished(cluster, "one")
    cluster.change("configmap", "one-results", {"binaryData": {"summary.json.gz": "AAAA"}})
    see(served, "/ui", ">one<")
    status, _, text = served.ask(f"/ui/{cluster.namespace}/tests/one")
    assert (status, "could not be made" in text) == (502, True)
    assert served.operator.probe("/healthz") == 200
