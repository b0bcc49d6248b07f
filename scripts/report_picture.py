"""Make the picture of a report for the README: the top of its page, in Debian's Chromium.

sshload run examples/01-quickstart.yaml --save dist/run.json
report_picture.py dist/run.json docs/images/report.png

"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from playwright.sync_api import sync_playwright

_WIDTH: Final = 1_100
_HEIGHT: Final = 900


def main(run: Path, picture: Path) -> None:
    """Write the picture of a saved run."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("there is no chromium: run scripts/debian-packages chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "report.html"
        sshload = Path(sys.executable).parent / "sshload"
        subprocess.run([sshload, "report", run, "-o", page_file], check=True)
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        page = browser.new_page(viewport={"width": _WIDTH, "height": _HEIGHT})
        page.goto(page_file.as_uri())
        page.wait_for_selector("html[data-rendered]", state="attached")
        page.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
