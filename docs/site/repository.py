"""
Brings files of the repository that are outside docs/ into the site, and points links at where they are there.

The Markdown is written to be read in the repository, too: a link there goes to a file. README.md is the first
page. What else outside docs/ is a page is listed in ``PAGES``; any other file that is linked is copied.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "benchmarks/history-drift/README.md": "history-drift.md",
    "tests/coreference/dialogues/README.md": "dialogues.md",
}
"""Pages of the site by their file in the repository."""
FILES_OF = {uri: path for path, uri in PAGES.items()}
GENERATED = {
    "Commands": "reference/commands.md",
    "Scenario keys": "reference/scenario-keys.md",
    "Shipped plug-ins": "reference/shipped-plug-ins.md",
    "Plug-in protocols": "reference/plug-in-protocols.md",
}
"""Pages that only the site has: the Markdown has their names in italics, and the site a link."""
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#|/)([^)\s#]+)")


def path_in_repository(uri: str) -> str:
    """Return which file of the repository the page *uri* is made from."""
    return FILES_OF.get(uri, f"docs/{uri}")


def uri_in_site(path: str) -> str:
    """Return where the file *path* of the repository is in the site."""
    return PAGES.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else f"source/{path}")


def linked(markdown: str, path: str) -> list[str]:
    """Return the files of the repository that *markdown*, the text of *path*, links to."""
    folder = posixpath.dirname(path)
    return [posixpath.normpath(posixpath.join(folder, target)) for target in LINK.findall(markdown)]


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages from outside docs/, and the files there that any page links to."""
    for path, uri in PAGES.items():
        files.append(File.generated(config, uri, content=(ROOT / path).read_text("utf-8")))
    for page in list(files.documentation_pages()):
        for path in linked(page.content_string, path_in_repository(page.src_uri)):
            uri = uri_in_site(path)
            if uri.startswith("source/") and files.get_file_from_path(uri) is None:
                files.append(File.generated(config, uri, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return *markdown* with links as they are in the site."""
    uri = page.file.src_uri
    folder = posixpath.dirname(path_in_repository(uri))

    def in_site(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, found[0]))
        return posixpath.relpath(uri_in_site(path), posixpath.dirname(uri) or ".")

    markdown = LINK.sub(in_site, markdown)
    for title, generated in GENERATED.items():
        link = posixpath.relpath(generated, posixpath.dirname(uri) or ".")
        markdown = markdown.replace(f"*{title}*", f"[{title}]({link})")
    return markdown
