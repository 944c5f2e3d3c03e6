"""The built wheel: what is in it, and that it works away from the checkout."""

from __future__ import annotations

import re
import subprocess
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

import replay
from tests.docs.plugins_page import FILES, TALKS, TESTS, write_files

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def installed(python: Path, what: Path) -> None:
    """Install *what*, and nothing that it needs, for *python*."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python), "install"]
    quietly = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*pip, *quietly, str(what)], check=True)


@pytest.fixture(scope="module")
def command(wheel, tmp_path_factory) -> Path:
    """``replay`` of a fresh environment that holds nothing but the wheel; what it needs is lent to it."""
    return fresh(tmp_path_factory.mktemp("fresh") / "venv", wheel)


def fresh(folder: Path, wheel: Path) -> Path:
    venv.create(folder, with_pip=False)
    installed(folder / "bin" / "python", wheel)
    (own,) = folder.glob("lib/python*/site-packages")
    # A path file that a path file names is not read, so an editable installation isn't lent.
    (own / "lent.pth").write_text("\n".join(p for p in sys.path if p.endswith("site-packages")) + "\n")
    return folder / "bin" / "replay"


def test_the_wheel_holds_the_packages_their_files_and_the_scenarios(wheel):
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
    files = [
        "git",
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        "replay",
        "adapters",
        "scenarios",
    ]
    listed = subprocess.run(files, cwd=ROOT, capture_output=True, text=True).stdout.split()
    sources = [name for name in listed if (ROOT / name).is_file()]
    if not sources:
        pytest.skip("not a checkout")
    wanted = {
        name.removeprefix("adapters/") if name.startswith("adapters/") else name
        for name in sources
        if not name.startswith(("scenarios/", "replay/coreference/training/"))
    } | {f"replay/_{name}" for name in sources if name.startswith("scenarios/")}
    own = {name for name in names if not name.split("/")[0].endswith(".dist-info")}
    assert own == wanted


def test_the_wheel_has_the_packages_version_and_every_licence(wheel):
    assert wheel.name.startswith(f"convreplay-{replay.__version__}-")
    with ZipFile(wheel) as archive:
        licences = {Path(name).name for name in archive.namelist() if "/licenses/" in name}
    assert licences == {"LICENSE", "WEIGHTS.LICENSE.txt"}


def test_the_newest_version_in_the_changelog_is_the_packages():
    versions = re.findall(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert versions[0] == replay.__version__


def test_the_quickstart_runs_away_from_the_checkout(command, tmp_path):
    done = subprocess.run(
        [command, "run", "quickstart", "--limit", "1"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "extractive, rewrite" in done.stdout
    assert len(list(tmp_path.glob("runs/quickstart-*/run.db"))) == 1
    where = [command.with_name("python"), "-c", "import replay; print(replay.__file__)"]
    assert (
        str(command.parents[1]) in subprocess.run(where, cwd=tmp_path, capture_output=True, text=True).stdout
    )


OTHERS = {
    "replay/__init__.py": "__version__ = '0.21'\n",
    "replay/models/__init__.py": "",
    "replay_rec-0.21.dist-info/METADATA": "Metadata-Version: 2.1\nName: replay-rec\nVersion: 0.21\n",
    "replay_rec-0.21.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "replay_rec-0.21.dist-info/RECORD": "",
}
"""A made-up distribution of the name that also has a package ``replay``."""


@pytest.mark.parametrize("last", ["ours", pytest.param("theirs", marks=pytest.mark.long)])
def test_another_package_of_that_name_is_told_of_in_one_sentence(last, wheel, tmp_path):
    other = tmp_path / "replay_rec-0.21-py3-none-any.whl"
    with ZipFile(other, "w") as archive:
        for name, text in OTHERS.items():
            archive.writestr(name, text)
    command = fresh(tmp_path / "venv", other if last == "ours" else wheel)
    installed(command.with_name("python"), wheel if last == "ours" else other)
    done = subprocess.run([command, "--version"], cwd=tmp_path, capture_output=True, text=True)
    imported = [command.with_name("python"), "-c", "import replay; print(replay.__version__)"]
    program = subprocess.run(imported, cwd=tmp_path, capture_output=True, text=True)

    assert done.stderr.count("replay-rec is installed here too") == 1
    assert "Traceback" not in done.stderr
    if last == "ours":
        assert (done.returncode, done.stdout) == (0, f"convreplay {replay.__version__}\n")
        assert (program.stderr.count("replay-rec"), program.stdout) == (1, f"{replay.__version__}\n")
    else:
        assert (done.returncode, done.stdout) == (2, "")


NAMED = """\
name: named
data: {path: talks.transcript}
systems: [{name: gold, adapter: scripted}]
policies: [greeting]
scorers: [length_ratio]
drift: {resolver: last_name}
judges: [{polite: {adapter: scripted, settings: {answers: ["Yes.", "No."]}}}]
"""


@pytest.mark.long
def test_the_plug_ins_of_the_page_keep_their_contracts_as_an_installed_package(command, tmp_path):
    """From nothing but the wheel and their own few files."""
    package, tests = tmp_path / "package", tmp_path / "tests"
    write_files(package, *(name for name in FILES if name not in (*TESTS, "plugins.yaml")))
    write_files(tests, *TESTS)
    python = command.with_name("python")
    installed(python, package)

    program = [python, "-m", "pytest", "-v", "-p", "no:cacheprovider", *TESTS]
    done = subprocess.run(program, cwd=tests, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(done.stdout.count(f"{name}::") >= 7 for name in TESTS)
    where = "import line_bot, replay.testing; print(line_bot.__file__, replay.testing.__file__)"
    found = subprocess.run([python, "-c", where], cwd=tests, capture_output=True, text=True).stdout.split()
    assert all(file.startswith(str(command.parents[1])) for file in found), found

    listed = subprocess.run([command, "plugins"], cwd=tests, capture_output=True, text=True).stdout
    for name in ("line_bot", "greeting", "length_ratio", "transcripts", "last_name", "polite"):
        assert re.search(rf"\b{name} .*my-replay-plugins 1.0", listed), name
    (tests / "named.yaml").write_text(NAMED)
    (tests / "talks.transcript").write_text(TALKS)
    done = subprocess.run([command, "run", "named.yaml"], cwd=tests, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "length_ratio" in done.stdout
