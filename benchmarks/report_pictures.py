"""
The pictures of the README, docs/reports.md and docs/plots.md: `python benchmarks/report_pictures.py`.

The quickstart is played, and its report looked at in headless Chromium; needs selenium, chromium,
chromium-driver and `convreplay[plots]`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait
from study_pictures import IMAGES, chromium, resize

from replay import run
from replay.viewer.pages import write_report

CONVERSATION = "The Lantern Census"
NO_CHART_TO_COME = (
    "return [...document.querySelectorAll('figure.chart')].every(f => !f.offsetParent"
    " || f.getBoundingClientRect().top >= innerHeight || f.querySelector('.main-svg'))"
)


def picture(driver: webdriver.Chrome, name: str, height: int) -> None:
    """Save what *driver* shows."""
    resize(driver, (1280, height))
    WebDriverWait(driver, 30).until(lambda d: d.execute_script(NO_CHART_TO_COME))
    path = IMAGES / f"{name}-light.png"
    driver.save_screenshot(str(path))
    make_small(path)


def make_small(path: Path) -> None:
    """Keep 64 colours of the picture; its file becomes a quarter."""
    Image.open(path).convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(path, optimize=True)


def main() -> None:
    with TemporaryDirectory() as temporary, chromium() as driver:
        played = run("quickstart", runs=temporary)
        page = Path(temporary) / "page.html"
        write_report(played.folder, page)
        resize(driver, (1280, 900))
        driver.get(f"file://{page}")
        picture(driver, "overview", 720)
        driver.find_element(By.LINK_TEXT, "By depth").click()
        picture(driver, "depth", 900)
        driver.find_element(By.LINK_TEXT, "Conversations").click()
        driver.find_element(By.PARTIAL_LINK_TEXT, CONVERSATION).click()
        WebDriverWait(driver, 30).until(lambda d: d.find_elements(By.CSS_SELECTOR, "table.sides"))
        # Three policies have room beside what was recorded, which the first one was shown.
        driver.find_element(By.CSS_SELECTOR, "form.columns input").click()
        picture(driver, "conversation", 1180)
        for what in ("depth", "gap"):
            out = IMAGES / f"plot-{what}.png"
            command = [sys.executable, "-m", "replay", "plot", str(played.folder), "--what", what]
            subprocess.run([*command, "--metric", "f1", "--out", str(out)], check=True)
            make_small(out)


if __name__ == "__main__":
    main()
