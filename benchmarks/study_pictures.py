"""
The pictures of docs/studies.md: `python benchmarks/study_pictures.py` draws them anew.

Studies are served and gone through in headless Chromium; needs selenium, chromium and
chromium-driver.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml
from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from replay.study.running.start import write_starter

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
CSS = By.CSS_SELECTOR
WIDE, PHONE = (1180, 760), (360, 700)
QUESTIONS = ("Where did she study composition?", "Who taught her there?", "What was he known for?")


@contextmanager
def served(preset: str) -> Iterator[dict[str, str]]:
    """The links of a study that `replay study init` wrote, without its practice, by who opens them."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / "study"
        write_starter(preset, folder)
        study = yaml.safe_load((folder / "study.yaml").read_text("utf-8"))
        del study["practice"]
        study["limits"] = {"between_messages_s": 0}
        (folder / "study.yaml").write_text(yaml.safe_dump(study), "utf-8")
        command = [sys.executable, "-u", "-m", "replay", "study", "serve", str(folder), "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                links: dict[str, str] = {}
                while "ben" not in links:
                    name, _, link = process.stdout.readline().strip().partition(": ")
                    links[name] = link
                yield links
            finally:
                process.terminate()


@contextmanager
def chromium() -> Iterator[webdriver.Chrome]:
    with TemporaryDirectory() as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for flag in (
            "headless=new", "no-sandbox", "disable-gpu", "disable-background-networking", "disable-sync",
            "disable-component-update", "no-first-run", "hide-scrollbars", f"user-data-dir={profile}",
        ):  # fmt: skip
            options.add_argument(f"--{flag}")
        driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        try:
            yield driver
        finally:
            driver.quit()


def resize(driver: webdriver.Chrome, size: tuple[int, int]) -> None:
    screen = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size == PHONE}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)


def picture(driver: webdriver.Chrome, name: str, size: tuple[int, int] = WIDE) -> None:
    resize(driver, size)
    path = IMAGES / f"study-{name}-light.png"
    driver.save_screenshot(str(path))
    # Few colours are on a page; a palette makes the file a quarter.
    Image.open(path).convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(path, optimize=True)
    resize(driver, WIDE)


def go_on(driver: webdriver.Chrome, selector: str = "main button.main") -> None:
    driver.execute_script("window.here = true")
    driver.find_element(CSS, selector).click()
    WebDriverWait(driver, 30).until(
        lambda d: d.execute_script("return !window.here && document.readyState === 'complete'")
    )


def choose_first(driver: webdriver.Chrome) -> None:
    """The first option of every field."""
    for options in driver.find_elements(CSS, ".options"):
        options.find_element(CSS, "input").click()


def begin(driver: webdriver.Chrome, link: str) -> None:
    """Agree, and read what to do."""
    driver.get(link)
    for _ in range(2):
        go_on(driver)


def talk(driver: webdriver.Chrome) -> None:
    for number, question in enumerate(QUESTIONS):
        driver.find_element(CSS, "textarea[name=question]").send_keys(question)
        driver.find_element(CSS, "form.say button.main").click()
        WebDriverWait(driver, 30).until(
            lambda d, number=number: (
                len(d.find_elements(CSS, ".transcript .answer")) == number + 1
                and d.find_elements(CSS, ".say")
            )
        )


def main() -> None:
    with chromium() as driver:
        resize(driver, WIDE)
        with served("mahueval") as links:
            begin(driver, links["ann"])
            talk(driver)
            picture(driver, "talk")
            driver.find_element(CSS, "details.confirm summary").click()
            go_on(driver, "form[action$='/talk/end'] button")
            picture(driver, "judging")
            picture(driver, "phone", PHONE)
            while not driver.find_elements(CSS, ".say"):
                choose_first(driver)
                go_on(driver)
            driver.get(links["owner"])
            picture(driver, "owner")
        with served("rating") as links:
            begin(driver, links["ann"])
            picture(driver, "rating")


if __name__ == "__main__":
    main()
