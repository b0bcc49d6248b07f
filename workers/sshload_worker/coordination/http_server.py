"""The master's HTTP port: /healthz, /readyz (all workers were connected and started) and /metrics from the totals."""

from http import HTTPStatus

from sshload_contract.front.text_port import TEXT, Answer, TextPort

from sshload_worker.coordination.master import Master


def serve(master: Master, host: str, port: int) -> TextPort:
    """Answer in a greenlet from now on, while the run continues; raises OSError if the port is taken."""

    def readyz() -> Answer:
        if master.started:
            return Answer(HTTPStatus.OK, TEXT, b"started\n")
        return Answer(HTTPStatus.SERVICE_UNAVAILABLE, TEXT, b"waiting for workers\n")

    pages = {
        "/healthz": lambda: Answer(HTTPStatus.OK, TEXT, b"ok\n"),
        "/readyz": readyz,
        "/metrics": lambda: _metrics(master),
    }
    return TextPort("" if host == "*" else host, port, pages)


def _metrics(master: Master) -> Answer:
    from sshload_worker.coordination import run_metrics  # noqa: PLC0415 - the metrics of few runs are requested

    return Answer(HTTPStatus.OK, run_metrics.CONTENT_TYPE, run_metrics.metrics(master))
