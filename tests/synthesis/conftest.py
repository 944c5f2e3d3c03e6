"""A small documentation of a made-up product, enough for a few conversations."""

import pytest

SERVICES = ("backup", "mail", "search", "billing", "login", "export", "upload", "report")
PAGE = """# The {name} service

The {name} service is a program that keeps the {name} data of one team. The {name} service can be paused
for a week. The {name} service supports up to {count} teams. It can be moved to a second region. If the {name}
service fails, a mail goes to the owner. If a {name} job hangs, a watcher ends it after an hour.

## {title} jobs

A {name} job is a task with one owner and one queue. A {name} job must have a deadline. A {name} job can be
cancelled by its owner. To repeat a {name} job, press the green button. Use the {name} console to watch
running jobs. You can share a {name} job with a team. You cannot rename a {name} job.

| Parameter | Default | Type |
| --- | --- | --- |
| `{name}_retries` | {count} | integer |
| `{name}_folder` | /var/{name} | text |
"""


def write_pages(folder):
    """Make *folder* with a page for each service."""
    folder.mkdir()
    for count, name in enumerate(SERVICES, 3):
        text = PAGE.format(name=name, title=name.capitalize(), count=count)
        (folder / f"{name}.md").write_text(text, "utf-8")
    return folder


@pytest.fixture
def documents(tmp_path):
    return write_pages(tmp_path / "docs")


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """The same for those who write nothing there."""
    return write_pages(tmp_path_factory.mktemp("pages") / "docs")
