"""What a page tells and a question on it does not: taken from the headings that it stands under."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from os.path import commonpath
from pathlib import Path, PurePath

from replay.coreference.reading.words import content_words, word_set
from replay.synthesis.documents.document import SourceDocument
from replay.synthesis.questions.question import DocumentFact, QuestionSetting
from replay.synthesis.questions.words import gerund, in_first_person, points, verb

LONGEST_HEADING, LONGEST_TITLE = 9, 12
"""Words."""
PRODUCT_SHARE = 0.4
"""The share of documents that speak of what they are about by its name."""
_SAYS_NOTHING = word_set(
    """
    overview syntax introduction notes note usage options option description example examples parameters
    parameter summary background details general other misc prerequisites requirements reference
    references about more faq questions answers synopsis output input result results see also features
    limitations known issues troubleshooting configuration settings setup getting started basics basic
    advanced guide documentation docs tips steps step what why how response request responses requests
    fields field default defaults directions ingredients instructions method recipe conclusion additional
    resources commands index home readme welcome changes frequently asked guidelines handbook manual first
    contents table of the and to a for additions changelog news other further reading start get
    quick quickstart src source pages page en english docs doc data main site text web www public content
    """
)
_ACTS = word_set(
    """
    install configure set create add remove update upgrade enable disable use run build deploy connect
    delete start stop restart change manage write test make reload migrate install
    publish choose get send receive move rename restore join
    """
)
"""Verbs that open a heading and hardly ever are nouns or adjectives there."""
_NUMBERED = re.compile(
    r"(?:section|chapter|part|step|appendix|figure|table) \w{1,2}\b|v\d[\d.x]*$", re.IGNORECASE
)
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][\w-]*[a-z][\w-]*(?: [A-Z][\w-]+)?")
"""A name inside a sentence, of one word or two."""
_UNSAYABLE = re.compile(r"[#<>=|{}\[\]\\\"“”]|\?$|\([^)]*$")
"""What a heading has that nobody says: signs, a question, half a parenthesis."""
FEWEST_NAMED = 10
"""Documents of a folder that have a name of their own."""
MOST_HEADINGS = 2
_AROUND = re.compile(r"^About (?=\w+ \w)|(?<=\w)(?<!ing)(?<! the)(?<! to) (?:Documentation|Docs)$")
"""What a title has around the thing that it names: "About borg prune", "HTTP Services Documentation"."""
_HOW_TO = re.compile(r"^(?:how (?:to|do i|do you|can i|can you)) ", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteOutline:
    """What all documents together say of their names."""

    shared_titles: AbstractSet[tuple[str, str]]
    """Titles that several documents have, each with "" and with the folders around more than one of them."""
    shared_headings: AbstractSet[str]
    """Headings that stand in several places."""
    root: Path
    """The folder of all documents, whose own name says nothing of any."""
    products: Mapping[str, str]
    """For each document's path, the name of what its documents are about; empty where none stands out."""
    site: str
    """The name of that folder or the one around it ("18F handbook"); empty where neither tells anything."""


def outline_of(documents: Sequence[SourceDocument]) -> SiteOutline:
    """Return what *documents* say of their names."""
    titles: Counter[tuple[str, str]] = Counter()
    headings: Counter[str] = Counter()
    for document in documents:
        titles.update((document.title, folder) for folder in {"", *PurePath(document.path).parent.parts})
        headings.update(path[-1] for path in {tuple(one.headings) for one in document.sections} if path)
    parents = [Path(one.path).absolute().parent for one in documents]
    root = Path(commonpath(parents)) if parents else Path()
    named = (re.sub(r"[_-]", " ", one.name) for one in (root, root.parent))
    return SiteOutline(
        shared_titles={title for title, count in titles.items() if count > 1},
        shared_headings={heading for heading, count in headings.items() if count > 1},
        root=root,
        products=dict(_products(documents, root)),
        site=next((one for one in named if not _SAYS_NOTHING.issuperset(one.lower().split())), ""),
    )


def _products(documents: Sequence[SourceDocument], root: Path) -> Iterator[tuple[str, str]]:
    """Yield each path with the name that most documents of its outermost folder have inside sentences."""
    names = {
        document.path: {name for section in document.sections for name in _NAME.findall(section.text)}
        for document in documents
    }
    groups: dict[str, list[str]] = defaultdict(list)
    for path in names:
        inside = Path(path).absolute().relative_to(root).parts
        groups[inside[0] if len(inside) > 1 else ""].append(path)
    of_all = _most_named(list(names.values()))
    for paths in groups.values():
        own = [names[path] for path in paths]
        is_of_all = sum(of_all in one for one in own) >= PRODUCT_SHARE / 2 * len(own)
        product = of_all if of_all and is_of_all else _most_named(own) if len(own) >= FEWEST_NAMED else ""
        yield from ((path, product) for path in paths)


def _most_named(names: Sequence[AbstractSet[str]]) -> str:
    counts = Counter(name for one in names for name in sorted(one))
    name, count = counts.most_common(1)[0] if counts else ("", 0)
    return name if count >= max(PRODUCT_SHARE * len(names), 2) else ""


def settings_of(
    bare: DocumentFact, title: str, path: str, outline: SiteOutline
) -> tuple[QuestionSetting, ...] | None:
    """
    Return what tells where *bare* belongs, outermost first: its document, then the headings it stands under.

    A document whose title says nothing ("Overview") is told by its folder. The product's name comes with it,
    or the site's where no product stands out, and the folder's where documents elsewhere have that title. A
    heading that stands in several places is told with the one above it. Headings that say nothing are left
    out, and so is everything where *bare* asks what something with a name is. None if nothing tells where it
    belongs.
    """
    if _names_its_topic(bare, outline.products[path]):
        return ()
    asked = _stems(bare.question)
    below = [one for one in bare.section.headings if one != title]
    page = _page(title, path, outline, asked)
    found = []
    if page:
        found.append(QuestionSetting(text=page, key=path, is_told=_tells(asked, page)))
    found += _headings(below, path, asked, _stems(f"{title} {page}"), outline)
    is_lost = bool(below) and not _is_sayable(below[-1]) and not _stems(below[-1]) <= asked
    return None if is_lost or not found else tuple(found)


def _page(title: str, path: str, outline: SiteOutline, asked: AbstractSet[str]) -> str:
    """Return how the document of *path* is told where the question says *asked*: "Roles (Mastodon)"."""
    parent, product = PurePath(path).parent, outline.products[path]
    folder = re.sub(r"[_-]", " ", parent.name)
    page = _setting(title, LONGEST_TITLE)
    if not page:
        page, title = "" if Path(parent).absolute() == outline.root and product else _setting(folder), folder
    # "Python packaging" is more than the name that its pages have in their sentences.
    name = outline.site if _stems(product) <= _stems(outline.site) else product
    more = [name or (_setting(folder) if len(_stems(title)) < 2 else "")]
    if (title, "") in outline.shared_titles:
        own = (one for one in reversed(parent.parts) if (title, one) not in outline.shared_titles)
        more += [said for one in own if (said := _setting(re.sub(r"[_-]", " ", one)))][:1]
    if not page or _tells(asked, page):
        return name if not _stems(name) <= asked else page
    more = [one for one in dict.fromkeys(more) if one and not _stems(one) <= _stems(page) | asked]
    return f"{page} ({', '.join(more)})" if more else page


def _headings(
    below: Sequence[str], path: str, asked: AbstractSet[str], said: AbstractSet[str], outline: SiteOutline
) -> list[QuestionSetting]:
    """Return the innermost of the headings *below* a title that says something, after those it needs."""
    chosen: list[str] = []
    for heading in reversed(below):
        if _setting(heading) and not _stems(heading) <= said:
            chosen.insert(0, heading)
            if heading not in outline.shared_headings and len(_stems(heading)) > 1:
                break
        if len(chosen) == MOST_HEADINGS:
            break
    return [
        QuestionSetting(text=_setting(one), key=f"{path}#{one}", is_told=_tells(asked, one)) for one in chosen
    ]


def _names_its_topic(bare: DocumentFact, product: str) -> bool:
    """Return whether *bare* asks what one thing with a name is, or of the product, and of nothing else."""
    if bare.topic is None or bare.kind in ("item", "cell", "condition", "procedure", "reason"):
        return False
    name = re.sub(r"^(?:a|an) ", "", bare.topic.text)
    is_name = all(word[:1].isupper() and not word.isupper() and word.isalpha() for word in name.split())
    rest = bare.question[: bare.topic.start] + bare.question[bare.topic.start + len(bare.topic.text) :]
    is_telling = name == product or (bare.kind == "definition" and " " in name)
    return is_name and is_telling and not re.search(r"\b(?:the|I|my)\b", rest)


def _tells(asked: AbstractSet[str], heading: str) -> bool:
    """Return whether *asked* holds more than half of what *heading* says."""
    said = _stems(heading)
    return 2 * len(asked & said) > len(said)


def _is_sayable(heading: str) -> bool:
    """Return whether *heading* can be said, whether or not it says something."""
    return not _UNSAYABLE.search(heading.strip()) and len(heading.split()) <= LONGEST_HEADING


def _setting(heading: str, longest: int = LONGEST_HEADING) -> str:
    """Return *heading* as it is said before a question ("joining a node"); empty if it says nothing."""
    said = heading.strip(" .:?!`")
    if len(said.split()) > 2:
        said = _AROUND.sub("", said)
    words = said.split()
    if (
        not words
        or len(words) > longest
        or _UNSAYABLE.search(heading.strip())
        or points(said)
        or not re.match(r"[A-Za-z]", said)
        or _NUMBERED.match(said)
    ):
        return ""
    if all(word.lower().strip(",()") in _SAYS_NOTHING for word in words):
        return ""
    how_to = _HOW_TO.sub("", said)
    first, _, thing = how_to.partition(" ")
    base = verb(first.lower(), "gerund") or verb(first.lower(), "base")
    if thing.startswith(("and ", "of ")):
        return said
    # "Build Configurations" may be about configurations of a build.
    is_noun = verb(first.lower(), "base") is not None and thing[:1].isupper() and how_to == said
    if base is not None and thing and not is_noun and (base in _ACTS or how_to != said):
        return f"{gerund(base)} {in_first_person(thing)}"
    return "" if how_to != said else said


def _stems(text: str) -> set[str]:
    said = [word for word in content_words(text) if word not in _SAYS_NOTHING]
    return {re.sub(r"(?:ies|es|s|ing|ed)$", "", word) for word in said}
