"""
The sentences of a conversation's passages, ready to be weighed against a question, and the stems of both.

Inverse document frequencies as in BM25 (Robertson and Zaragoza, 2009, "The Probabilistic Relevance
Framework", equation 3.3), over sentences; a term counts once a sentence, since in a sentence how often
it stands there says little. What a sentence is about often stands in the one before it ("She needs six
hours for the round."), so a sentence also holds the terms of those before it in its paragraph, for less.

English endings are taken off and the commonest irregular verbs known, and no more: it only has to bring
"recorded", "recording" and "records" together, and "met" and "meet".

"Who" asks for a name, "when" and "how many" for a number, "why" for a reason: the oldest rule of answering
questions from a text (Hirschman et al., 1999, "Deep Read: A Reading Comprehension System"), and a rough one.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import chain

WORD = re.compile(r"\w+(?:['’]\w+)*")
_POSSESSIVE = re.compile(r"['’]s?$")
_STOPWORDS = frozenset(
    """
    a about above after again against all also am an and any anything are aren't as at be because been
    before being below between both but by can can't could couldn't did didn't do does doesn't doing don't
    down during each else ever few for from further get got had has hasn't have haven't having he her here
    hers herself him himself his how i if in into is isn't it its itself just let's like many may me might
    more most much must my myself no nor not now of off on once only or other others our ours ourselves out
    over own she should so some something such tell than that that's the their theirs them themselves then
    there there's these they this those through to too under until up upon us very was wasn't we were
    weren't what what's when where which while who who's whom whose why will with would yes you your yours
    yourself
    """.split()  # noqa: SIM905 - 150 words in quotes are no easier to read
)
_ENDINGS = (("sses", "ss"), ("ies", "y"), ("ied", "y"), ("ing", ""), ("edly", ""), ("ed", ""), ("ly", ""))


_IRREGULAR = {
    form: verb
    for forms in """
    become became
    begin began begun
    break broke broken
    bring brought
    build built
    burn burnt
    buy bought
    catch caught
    choose chose chosen
    come came
    draw drew drawn
    drive drove driven
    eat ate eaten
    fall fell fallen
    feel felt
    find found
    fly flew flown
    forget forgot forgotten
    give gave given
    go went gone
    grow grew grown
    hang hung
    hear heard
    hold held
    keep kept
    know knew known
    lead led
    leave left
    lend lent
    lose lost
    make made
    mean meant
    meet met
    pay paid
    ring rang rung
    rise rose risen
    run ran
    say said
    see saw seen
    sell sold
    send sent
    sing sang sung
    sit sat
    sleep slept
    speak spoke spoken
    spend spent
    stand stood
    swim swam swum
    take took taken
    teach taught
    tell told
    think thought
    wear wore worn
    win won
    write wrote written
    """.strip().splitlines()
    for verb, *others in [forms.split()]
    for form in others
}


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return *word*, in lower case, without plural, possessive and the endings of tense; "met" is "meet"."""
    word = _POSSESSIVE.sub("", word)
    word = _IRREGULAR.get(word, word)
    if len(word) <= 3 or not word.isalpha():
        return word
    if word.endswith("s") and not word.endswith(("ss", "us", "is", "ies")):
        word = word[:-1]
    for ending, replacement in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending) + replacement
            if not replacement and len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]  # "planned" -> "plan"
            break
    return word.removesuffix("e") if len(word) > 4 else word


@lru_cache(maxsize=4096)
def content_stems(text: str) -> tuple[str, ...]:
    """Return the stems of the words that carry meaning, each once, in order of appearance."""
    words = (match[0] for match in WORD.finditer(text.casefold()))
    return tuple(dict.fromkeys(stem(word) for word in words if word.replace("’", "'") not in _STOPWORDS))


_LEANING = frozenset(
    """
    he she it they him her them his hers its their theirs this that these those there then one ones else
    others
    """.split()  # noqa: SIM905 - words in quotes are no easier to read
)
_WHO = re.compile(r"\bwho(?:se|m|['’]s)?\b", re.IGNORECASE)
_HOW_MANY = re.compile(
    r"\b(?:when|how (?:long|many|much|old|often|high|far|big|large|tall)|what (?:time|year))\b", re.IGNORECASE
)
_WHY = re.compile(r"\b(?:why|how come)\b", re.IGNORECASE)
_NUMBER = re.compile(
    r"""\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen
    |seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million
    |half|once|twice|single)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_REASON = re.compile(r"\b(?:because|since|as|to|in order|due|caused|wanted|so)\b", re.IGNORECASE)


@lru_cache(maxsize=4096)
def leans(text: str) -> bool:
    """Return whether *text* has a word that stands for something said before, as far as single words tell."""
    words = (match[0].casefold() for match in WORD.finditer(text))
    return any(re.split("['’]", word)[0] in _LEANING for word in words)


@lru_cache(maxsize=65_536)
def can_answer(sentence: str, question: str) -> bool:
    """Return whether *sentence* has what *question* asks for: true where the question's kind isn't known."""
    return (
        (not _WHO.search(question) or bool(name_stems(sentence) - set(content_stems(question))))
        and (not _HOW_MANY.search(question) or bool(_NUMBER.search(sentence)))
        and (not _WHY.search(question) or bool(_REASON.search(sentence)))
    )


@lru_cache(maxsize=4096)
def name_stems(text: str) -> frozenset[str]:
    """Return the stems of the words with a capital, but for the first word and "I"."""
    words = [match[0] for match in WORD.finditer(text)][1:]
    names = (word for word in words if word[0].isupper() and re.split("['’]", word)[0] != "I")
    return frozenset(content_stems(" ".join(names)))


_MARKS = r"""`!"#%&'()*,\-./:;?@\[\\\]_{}¡§«·»¿‐-―‘-‟†-•…‹›"""
_BEFORE_WORDS = r"""!"#%&'()*,:;?\[\]_{}¡§«·»¿–—‘’‚“”„…"""
_CAPITAL = "A-ZÀ-ÖØ-Þ"
_END = re.compile(
    rf"""
    (?:
        (?: (?<![!?。！？]) [!?。！？]
          | (?: (?<!\S) | (?<=[^\W_{_CAPITAL}]) | (?<=[{_CAPITAL}]{{2}}) | (?<=[%²+{_MARKS}]) )
            (?<!\.) \. (?!\.)                           # no initial, as in "J. Smith", and no "..."
        ) (?= [{_MARKS}]* (?:\s|$) )                     # only marks up to the end of the word
      | (?<=[^\W\d_{_CAPITAL}]) \. (?=["“”‘’']?[{_CAPITAL}])  # a space is missing: "the end.Then"
    )
    [{_MARKS}]* (?: [ ] (?: [{_MARKS}]+ (?=\s|$) | [{_BEFORE_WORDS}]+ ) )*
    """,
    re.VERBOSE,
)
_LAST_WORD = re.compile(r"""[^\s"“([{]*$""")
_LONGEST = 10
"""Characters; an abbreviation with quotes before it has fewer."""
_ABBREVIATION = re.compile(
    r"""
    ['’]*
    (?: [a-z] | [ap]\.m | [Ee]\.g | E\.G | [Ii]\.e | I\.E | v\.?s | Ph\.D | [NS]\.[CD] | N\.[HJMY] | D\.C
      | [Cc]o | Adm | Ak | Ala | Apr | Ariz | Ark | Aug | Bros | Calif | Colo | Conn | Corp | Dec | Del
      | Dr | Feb | Fla | Ga | Gen | Gov | Ia | Id | Ill | Inc | Ind | Jan | Jr | Jul | Jun | Kans? | Ky
      | La | Ltd | Mar | Mass | Md | Messrs | Mich | Minn | Miss | Mo | Mont | Mrs? | Ms | Mt | Nebr?
      | Nev | Nov | Oct | Okla | Ore | Pa | Prof | Rep | Rev | Sen | Sept? | St | Tenn | Va | Wash | Wis )
    """,
    re.VERBOSE,
)
_WORD = re.compile(r"\w")


def split_sentences(paragraph: str) -> list[str]:
    """
    Return the sentences of *paragraph*, spaces straightened; those without a word are left out.

    Cut by punctuation and a list of abbreviations. The rules are those of spaCy's English tokenizer with its
    sentencizer, without its 100 MB: of 12,780 paragraphs of questions, answers and articles 43 come out
    otherwise, most of them at smileys and at quotes that close without a space behind them.
    """
    found, begin = [], 0
    for end in _END.finditer(paragraph):
        before = _LAST_WORD.search(paragraph[max(0, end.start() - _LONGEST) : end.start()])
        if paragraph[end.start()] == "." and before and _ABBREVIATION.fullmatch(before[0]):
            continue
        found.append(paragraph[begin : end.end()])
        begin = end.end()
    texts = [" ".join(text.split()) for text in (*found, paragraph[begin:])]
    return [text for text in texts if _WORD.search(text)]


LENGTH_WEIGHT = 0.25
"""BM25's b: how far a sentence twice as long has to cover more. A long sentence is still one answer,
so less than the 0.75 usual for documents."""

REACH = 0.5
"""What a term counts in the sentence after the one that it stands in; in the next, that much of it again."""

FAINT = 0.05
"""Below it a term counts nothing any more."""

_BLANK_LINE = re.compile(r"\n\s*\n")


class SentenceIndex:
    """Which sentences hold which stems, and how telling each stem is."""

    def __init__(self, paragraphs: Sequence[Sequence[str]], passage_of: Sequence[int]) -> None:
        self.sentences: tuple[str, ...] = tuple(chain.from_iterable(paragraphs))
        self.passage_of: tuple[int, ...] = tuple(passage_of)
        """For each sentence, the number of the passage it stands in, from 0."""
        stems = [[content_stems(sentence) for sentence in paragraph] for paragraph in paragraphs]
        self._postings: dict[str, list[tuple[int, float]]] = {}
        self._same: dict[str, list[int]] = {}
        for number, sentence in enumerate(self.sentences):
            self._same.setdefault(_plain(sentence), []).append(number)
        self._stems = tuple(chain.from_iterable(stems))
        self._frequency = Counter(chain.from_iterable(self._stems))
        lengths = [len(terms) for terms in self._stems]
        mean = sum(lengths) / len(lengths) if lengths else 1.0
        brevity = [
            1 / (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * max(length, 1) / max(mean, 1.0)) for length in lengths
        ]
        number = 0
        for paragraph in stems:
            held: dict[str, float] = {}
            for terms in paragraph:
                held = {term: share * REACH for term, share in held.items() if share * REACH >= FAINT}
                held |= dict.fromkeys(terms, 1.0)
                for term, share in held.items():
                    self._postings.setdefault(term, []).append((number, share * brevity[number]))
                number += 1

    def rarity(self, term: str) -> float:
        """Return the inverse document frequency; highest for a stem in no sentence at all."""
        frequency = self._frequency[term]
        return math.log1p((len(self.sentences) - frequency + 0.5) / (frequency + 0.5))

    def add_coverage(self, scores: dict[int, float], terms: Mapping[str, float], weight: float) -> None:
        """
        Add to *scores*, by sentence number, the share of *terms* that the sentence covers, times *weight*.

        Weighted by rarity and by what *terms* says of each, and favouring short sentences; about 1 at most
        before *weight*.
        """
        rarities = {term: share * self.rarity(term) for term, share in terms.items()}
        total = sum(rarities.values())
        for term, rarity in rarities.items():
            share = weight * rarity / total
            for number, held in self._postings.get(term, ()):
                scores[number] = scores.get(number, 0.0) + share * held

    def news(self, sentence: int, terms: Collection[str]) -> float:
        """Return the share of a sentence's stems that are not among *terms*."""
        stems = self._stems[sentence]
        return sum(stem not in terms for stem in stems) / max(len(stems), 1)

    def sentences_equal_to(self, text: str) -> Sequence[int]:
        """Return the numbers of the sentences that say just *text*, whatever its case and punctuation."""
        return self._same.get(_plain(text), ())


@lru_cache(maxsize=256)
def index_of(texts: tuple[str, ...]) -> SentenceIndex:
    """Return the index of passages with *texts*; kept, since every policy plays the same conversations."""
    paragraphs: list[Sequence[str]] = []
    passage_of: list[int] = []
    for number, text in enumerate(texts):
        for paragraph in _BLANK_LINE.split(text):
            paragraphs.append(sentences := split_sentences(paragraph))
            passage_of += [number] * len(sentences)
    return SentenceIndex(paragraphs, passage_of)


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    return " ".join(match[0] for match in WORD.finditer(text.casefold()))
