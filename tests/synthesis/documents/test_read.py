"""Which files are found, and what is said of those that can't be used."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pypdf
import pytest

from replay.core.errors import DatasetError
from replay.synthesis.documents.document import SourceDocument
from replay.synthesis.documents.read import read_documents

TEXT = "It is a program for all of you. It reads what you have.\n"


def paths(found: list[SourceDocument | DatasetError]) -> list[str]:
    return [Path(document.path).name for document in found if isinstance(document, SourceDocument)]


def pdf(*pages: str) -> bytes:
    """Return a PDF file with *pages* of text, a line each."""
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", font]
    kids = []
    for page in pages:
        operators = ["BT /F1 12 Tf 72 720 Td"]
        for line in page.split("\n"):
            size = 20 if line.startswith("#") else 12
            text = line.lstrip("# ").replace("(", r"\(").replace(")", r"\)")
            operators.append(f"/F1 {size} Tf ({text}) Tj 0 -14 Td" if text else "0 -14 Td")
        stream = "\n".join([*operators, "ET"]).encode("latin-1")
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        number = len(objects)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
            b"/Contents %d 0 R >>" % number
        )
        kids.append(b"%d 0 R" % (number + 1))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    data, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    count = len(objects) + 1
    return data + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
        % (count, table, count, len(data))
    )


def test_a_pdf_is_read_with_its_lines_mended(tmp_path):
    first = (
        "# The manual\nThis manual is about the instal-\nlation of it. It takes a\nminute.\n\n"
        "It is free (for you)."
    )
    second = "Anyone may use it, and all of\n1"
    (tmp_path / "a.pdf").write_bytes(pdf(first, second, "those who want to may change it.\n2"))
    (document,) = read_documents([tmp_path / "a.pdf"])
    assert isinstance(document, SourceDocument)
    (section,) = document.sections
    assert (document.title, section.headings) == ("The manual", ("The manual",))
    assert section.text.split("\n") == [
        "This manual is about the installation of it. It takes a minute.",
        "It is free (for you).",
        "Anyone may use it, and all of those who want to may change it.",
    ]


def encrypted() -> bytes:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf(TEXT)))
    writer.encrypt("secret", algorithm="RC4-128")
    stream = io.BytesIO()
    writer.write(stream)
    return stream.getvalue()


GERMAN = "Das ist ein Programm für alle, die es wollen, und es liest, was man ihm gibt. " * 6


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.md", b"", "is empty"),
        ("a.md", b"\xef\xbb\xbf \n\n", "is empty"),
        ("a.txt", b"a\0b", "is binary, no text"),
        ("a.md", b"Caf\xe9 is here.", "is not UTF-8 (byte 0xe9 at offset 3); save it as UTF-8 first"),
        ("a.pdf", encrypted(), "is an encrypted PDF; save it without a password first"),
        ("a.pdf", pdf(""), "is a PDF without text, perhaps scanned; run OCR over it first"),
        ("a.pdf", b"%PDF-1.4 and then nothing", "is no PDF that can be read ("),
        (
            "a.md",
            b"x" * 2_000_000,
            "has 2 MB, and files above 1 MB are left out; split it, or set a higher limit",
        ),
        (
            "a.md",
            GERMAN.encode(),
            "is not English: 6% of its words are English function words, in English it is above 12%",
        ),
        ("a.md", b"# Title\n\n- [a](b)\n", "has no sentences, items or rows outside code and navigation"),
    ],
)
def test_what_cant_be_used_is_a_sentence_and_the_rest_is_read(tmp_path, name, content, complaint):
    (tmp_path / name).write_bytes(content)
    (tmp_path / "b.md").write_text(TEXT)
    error, document = read_documents([tmp_path], largest_mb=1)
    assert isinstance(error, DatasetError)
    assert str(error).startswith(f"{tmp_path / name}: {complaint}")
    assert isinstance(document, SourceDocument)


def test_what_isnt_there_is_told(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop.md").symlink_to("loop.md")
    os.mkfifo(tmp_path / "pipe.md")
    asked = [tmp_path / name for name in ("none.md", "folder", "*.rst", "loop.md", "pipe.md")]
    errors = list(read_documents(asked))
    assert [str(error).removeprefix(f"{path}: ") for error, path in zip(errors, asked, strict=True)] == [
        "there is no such file; check the path",
        "holds no documents; looked for .txt, .text, .md, .markdown, .mdx, .html, .htm, .xhtml, .rst, "
        ".csv, .tsv, .jsonl, .pdf",
        "no file has a name like this; check the pattern",
        "can't be opened (Too many levels of symbolic links); check it",
        "is no regular file",
    ]


def test_a_file_that_may_not_be_read_is_told(tmp_path, monkeypatch):
    """Patched, since root may read everything."""
    (tmp_path / "a.md").write_text(TEXT)

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    (error,) = read_documents([tmp_path / "a.md"])
    assert str(error) == f"{tmp_path / 'a.md'}: can't be opened (Permission denied); check it"


def test_folders_are_searched_in_the_order_of_names_and_each_file_is_read_once(tmp_path):
    for name in ("b/c.md", "b/a.txt", "a.rst", "b/x.png", ".git/d.md", "node_modules/e.md", "notes"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(TEXT)
    (tmp_path / "b" / "up").symlink_to(tmp_path)  # a circle
    (tmp_path / "z.md").symlink_to(tmp_path / "b" / "c.md")
    assert paths(list(read_documents([tmp_path]))) == ["a.rst", "a.txt", "c.md"]
    assert paths(list(read_documents([tmp_path / "b" / "*.md", tmp_path / "**" / "*.txt"]))) == [
        "c.md",
        "a.txt",
    ]
    assert paths(list(read_documents([tmp_path / "notes"]))) == ["notes"]


def test_any_language_may_be_read(tmp_path):
    (tmp_path / "a.md").write_text(GERMAN)
    assert paths(list(read_documents([tmp_path], english_only=False))) == ["a.md"]
