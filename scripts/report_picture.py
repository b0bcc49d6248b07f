"""Make the picture of a report for the README: run the first example, and take the top of its page in Chromium.

.venv/bin/python scripts/report_picture.py

"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from playwright.sync_api import sync_playwright

_ROOT: Final = Path(__file__).parents[1]
_WIDTH: Final = 1_100
_HEIGHT: Final = 900


def main() -> None:
    """Run the example, which takes 40 s, and write the picture."""
    subprocess.run([_ROOT / "scripts/debian-packages", "chromium"], check=True)
    sshload = Path(sys.executable).parent / "sshload"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        run, page_file = Path(folder) / "run.json", Path(folder) / "report.html"
        subprocess.run([sshload, "run", _ROOT / "examples/01-quickstart.yaml", "--save", run], check=True)
        subprocess.run([sshload, "report", run, "-o", page_file], check=True)
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        page = browser.new_page(viewport={"width": _WIDTH, "height": _HEIGHT})
        page.goto(page_file.as_uri())
        page.wait_for_selector("html[data-rendered]", state="attached")
        page.screenshot(path=_ROOT / "docs/images/report.png")
        browser.close()


if __name__ == "__main__":
    main()
