"""
The expressions of a question that may refer to something said before.

Third-person pronouns, bare demonstratives ("When did this happen?"), demonstrative noun phrases
("that album"), definite noun phrases ("the band", "the building"), one of several ("the second one",
"which one", "the cheapest", "the other"), "there" and "then". Left out is what only looks like one:
"that" as a conjunction or relative pronoun, "it" in "is it true" or "does it rain", "there is", and
"this article", which means the passage itself. What a question leaves out altogether is no
expression; ``ellipsis_of`` says where it could be put.
"""

from __future__ import annotations

from collections.abc import Sequence

from replay.core.drift_evidence import Mention, MentionKind
from replay.coreference.reading.words import FUNCTION_WORDS, Token, tokens, word_set

_PRONOUNS: dict[str, MentionKind] = {
    "he": "he", "him": "he", "his": "he", "himself": "he",
    "she": "she", "her": "she", "hers": "she", "herself": "she",
    "they": "they", "them": "they", "their": "they", "theirs": "they",
    "themselves": "they", "themself": "they",
    "it": "it", "its": "it", "itself": "it",
}  # fmt: skip
REFLEXIVES = frozenset({"himself", "herself", "itself", "themselves", "themself"})
PRONOUN_KINDS: frozenset[MentionKind] = frozenset({"he", "she", "they", "it"})
_POSSESSIVES = frozenset({"his", "hers", "their", "theirs", "its"})
_DEMONSTRATIVES = frozenset({"this", "that", "these", "those"})

GENERAL_NOUNS = word_set(
    """
    band group album albums song songs single singles film films movie movies show shows series book books
    novel play record records tour game match fight season team company organization school university
    award awards case trial war battle election project program campaign movement party label event
    concert story character role job position incident accident attack murder death marriage relationship
    child children son daughter wife husband brother sister mother father couple family duo trio members
    member work works theory idea law bill act policy style music track video documentary episode club
    league championship tournament title race city town country state region area place church ship crew
    """
)
"""Nouns that, after "the", mean little without what was said before."""

_DEMONSTRATED_NOUNS = GENERAL_NOUNS | word_set(
    """
    time year years period era decade day month week point moment date way kind type person man woman
    people men women guy question answer change decision deal statement article report claim issue problem
    topic subject version line performance appearance success reason experience job process method system
    name term word thing things situation interview trip speech
    """
)
_PASSAGE_NOUNS = frozenset({"article", "section", "page", "passage", "text", "paragraph"})
_MODIFIERS = word_set(
    "same new first second third last next particular specific other two three four five early original"
)
_VERBS = word_set(
    """
    is are was were be been being has have had do does did will would can could should may might must
    happen happened happens occur occurred work worked works mean means meant take took takes go went goes
    come came comes make made makes get got gets become became end ended ends start started starts sell
    sold receive received win won lose lost lead led affect affected cause caused change changed help
    helped include included begin occur refer say said describe bring give gave inspire influence impact
    """
)
_BEFORE_THAT = word_set(
    """
    in of for at on from to with by after before during about like than besides beside since until till
    through into over under is was are were did does do done had has have would could will can should why
    how when where what who all and or but because
    """
)
"""What may stand before a "that" which points at something."""
_BEFORE_CLAUSE = word_set(
    """
    think thinks thought say says said claim claims claimed believe believes believed know knows knew feel
    feels felt announce announced hope hoped true so such fact state stated suggest suggested mean show
    shows showed learn learned find found decide decided argue argued mention mentioned indicate indicated
    realize realized reveal revealed report reported sure aware clear likely possible
    """
)
"""What may stand before a "that" which opens a clause, even when a noun follows."""
_ABOUT_CLAUSE = word_set(
    """
    true possible known clear important likely unlikely common hard difficult easy necessary believed said
    thought rumored rumoured reported claimed obvious certain fair safe worth legal illegal normal
    """
)
_WEATHER = word_set("rain rains rained raining snow snows snowed snowing hail freeze thunder")
_BE = frozenset({"is", "was", "were", "are", "be", "isn't", "wasn't", "been", "'s"})
_NOT_OWNED = frozenset(
    {"family", "early", "only", "daily", "weekly", "monthly", "friendly", "lovely", "elderly"}
)
_NOT_AFTER_THE = frozenset({"of", "that", "called", "named", "who", "which", "where", "whose"})
_ORDINALS = word_set(
    "first second third fourth fifth sixth last latter former next other others rest two three"
)
_ALONE = word_set("latter former other others rest two")
"""Of the ordinals, those that are one of several whatever follows, unless it is a noun."""
_OPTIONS = word_set("one ones option options choice choices alternative alternatives suggestion item")
_SUPERLATIVES = word_set("best worst most least cheapest newest oldest latest")
_NO_COMPARATIVES = word_set(
    """
    after other over under number member answer order offer summer winter paper water computer power letter
    user server printer router center centre river tower chapter corner dinner former latter leader player
    singer writer owner buyer seller driver manager customer officer producer user matter river weather
    west east interest rest test guest contest request forest guest harvest latest
    """
)
_EXISTS = word_set("is are was were be been isn't aren't wasn't weren't 's exist exists has have had will")
_BEFORE_THEN = word_set("by until till since back before after from only just and")
_ENDS = frozenset({"", "?", ".", "!", ",", ";", ":"})
_DEFINITE_WORDS = 3
_NEVER_DEFINITE = word_set(
    """
    same way first second third last next only most least best worst past future world internet time end
    beginning middle following public police government news weather moment morning evening afternoon night
    north south east west other others one ones rest latter former two away again back now online yet
    together instead tomorrow today tonight yesterday
    """
)
_CLOSING = " \t\n?!.\"”’'…"


def find_mentions(question: str) -> tuple[Mention, ...]:
    """Return the mentions of *question* in order of position; they never overlap."""
    line = tokens(question)
    found: list[Mention] = []
    at = 0
    while at < len(line):
        mention = _mention_at(question, line, at)
        if mention is not None:
            found.append(mention)
            while at < len(line) and line[at].start < mention.end:
                at += 1
        else:
            at += 1
    return tuple(found)


def ellipsis_of(question: str) -> Mention:
    """Return an empty mention for what *question* leaves out, right before its final punctuation."""
    at = len(question.rstrip(_CLOSING)) or len(question)
    return Mention(start=at, end=at, text="", kind="ellipsis")


def kind_of(text: str) -> MentionKind:
    """Return the kind of mention that *text* is, seen alone; "other" for a name or noun phrase."""
    line = [token for token in tokens(text) if token.is_word]
    if not line:
        return "other"
    first = line[0].normal
    if len(line) == 1:
        return _PRONOUNS.get(first, "this" if first in _DEMONSTRATIVES else "other")
    if first in _DEMONSTRATIVES:
        return "this-noun"
    return "the-noun" if first == "the" and len(line) == 2 and line[1].normal in GENERAL_NOUNS else "other"


def is_possessive(text: str, following: str) -> bool:
    """Return whether the mention *text*, before the text *following*, asks for a possessive in its place."""
    normal = text.strip().lower()
    return normal in _POSSESSIVES or (normal == "her" and _opens_noun_phrase(tokens(following[:80])))


def _mention_at(question: str, line: Sequence[Token], at: int) -> Mention | None:
    token = line[at]
    if token.normal in _PRONOUNS:
        if token.normal == "it" and _is_pleonastic(line, at):
            return None
        possessive = token.normal in _POSSESSIVES
        if token.normal == "her":
            possessive = _opens_noun_phrase(line[at + 1 : at + 3])
        return _mention(question, token, token, _PRONOUNS[token.normal], possessive)
    if token.normal in _DEMONSTRATIVES:
        return _demonstrative_at(question, line, at)
    if token.normal in ("the", "which"):
        return _one_at(question, line, at) or (
            _definite_at(question, line, at) if token.normal == "the" else None
        )
    if token.normal in ("there", "then"):
        return _adverb_at(question, line, at)
    return None


def _mention(
    question: str, first: Token, last: Token, kind: MentionKind, possessive: bool = False
) -> Mention:
    return Mention(
        start=first.start,
        end=last.end,
        text=question[first.start : last.end],
        kind=kind,
        possessive=possessive,
    )


def _normal(line: Sequence[Token], at: int) -> str:
    return line[at].normal if 0 <= at < len(line) else ""


def _opens_noun_phrase(line: Sequence[Token]) -> bool:
    """Return whether what follows "her" belongs to her ("her voice", not "saw her again")."""
    if not line:
        return False
    word = line[0].normal
    if word in {"own", "other", "most", "many"} or word in {'"', "“", "'", "‘"}:
        return len(line) > 1
    if word.endswith("ly") and word not in _NOT_OWNED:
        return False
    return line[0].is_word and word not in FUNCTION_WORDS


def _is_pleonastic(line: Sequence[Token], at: int) -> bool:
    before, after, later = _normal(line, at - 1), _normal(line, at + 1), _normal(line, at + 2)
    if after in _WEATHER or (after in {"seem", "seems", "seemed", "appear", "appears", "appeared"}):
        return True
    if before in _BE and (after in _ABOUT_CLAUSE or (after == "that" and later)):
        return True
    if after in _BE and later in _ABOUT_CLAUSE:
        return True
    # "How long did it take to record the album?"
    return after in {"take", "takes", "took"} and any(token.normal == "to" for token in line[at + 2 : at + 6])


def _demonstrative_at(question: str, line: Sequence[Token], at: int) -> Mention | None:
    token, before, after = line[at], _normal(line, at - 1), _normal(line, at + 1)
    noun = _demonstrated_noun(line, at)
    if noun is not None:
        head = line[noun].normal
        if head in _PASSAGE_NOUNS:
            return None
        if token.normal == "that" and not _points(before, head):
            return None
        return _mention(question, token, line[noun], "this-noun")
    if token.normal == "that":
        ends = not after or after in {"?", ".", ",", "!"}
        if not ends and not (at == 0 or (before in _BEFORE_THAT and before not in _BEFORE_CLAUSE)):
            return None
    elif token.normal in {"these", "those"} and after in {"who", "that", "which"}:
        return None
    return _mention(question, token, token, "this")


def _points(before: str, noun: str) -> bool:
    """Return whether "that", between *before* and *noun*, is a demonstrative and opens no clause."""
    plural = noun in {"people", "men", "women", "children"} or (noun.endswith("s") and noun != "series")
    if before in _BEFORE_CLAUSE or (plural and not noun.endswith("ss")):
        return False
    return not before or before in _BEFORE_THAT or noun in _DEMONSTRATED_NOUNS


def _demonstrated_noun(line: Sequence[Token], at: int) -> int | None:
    """Return the index of the noun of "this ..." in *line*; None for a bare demonstrative."""
    last = at
    while last + 1 < len(line) and last - at < 2:
        word = line[last + 1]
        plain = word.normal not in FUNCTION_WORDS or word.normal in _MODIFIERS
        if not word.is_word or not plain or word.normal in _VERBS or word.normal.endswith("ing"):
            break
        last += 1
        after = _normal(line, last + 1)
        if word.normal in _DEMONSTRATED_NOUNS | _PASSAGE_NOUNS and after not in _DEMONSTRATED_NOUNS - _VERBS:
            break
    if last == at or line[last].normal in _MODIFIERS:
        return None
    unknown = line[last].normal not in _DEMONSTRATED_NOUNS | _PASSAGE_NOUNS
    ends = _normal(line, last + 1) in {"", "?", ".", "!"}
    if unknown and last == at + 1 and ends and _normal(line, at - 1) in _BE:
        return None  # "Was this successful?"
    return last


def _one_at(question: str, line: Sequence[Token], at: int) -> Mention | None:
    """Return the mention "the second one", "the cheaper", "which ones" at a token; None if there is none."""
    first = _normal(line, at + 1)
    if line[at].normal == "which":
        if first in ("one", "ones"):
            return _mention(question, line[at + 1], line[at + 1], "one")
        return None
    last = at + 1
    graded = first in _SUPERLATIVES or (
        first.endswith(("est", "er")) and len(first) > 4 and first not in _NO_COMPARATIVES
    )
    if first in _OPTIONS and first not in ("one", "ones"):
        return None
    if first in ("most", "least", "more", "less") and _normal(line, at + 2) not in _ENDS | FUNCTION_WORDS:
        last += 1
        graded = True
    if (first not in _ORDINALS | {"one", "ones"} and not graded) or line[at + 1].is_capitalized:
        return None
    if _normal(line, last + 1) in _OPTIONS | {"two"}:
        return _mention(question, line[at], line[last + 1], "one")
    if [token.normal for token in line[last + 1 : last + 3]] in (
        ["of", "them"],
        ["of", "these"],
        ["of", "those"],
    ):
        return _mention(question, line[at], line[last + 2], "one")
    if [token.normal for token in line[last + 1 : last + 4]] == ["of", "the", "two"]:
        return _mention(question, line[at], line[last + 3], "one")
    following = _normal(line, last + 1)
    closes = following in _ENDS or following in FUNCTION_WORDS - _NOT_AFTER_THE - {"ever"}
    if first in ("one", "ones") or not closes:
        return None
    if first in _ALONE or (following != "time" and last > at):
        return _mention(question, line[at], line[last], "one")
    return None


def _adverb_at(question: str, line: Sequence[Token], at: int) -> Mention | None:
    """Return the mention "there" or "then" at a token, if it points to a place or a time."""
    token, before, after = line[at], _normal(line, at - 1), _normal(line, at + 1)
    if token.normal == "there":
        exists = after in _EXISTS or before in _EXISTS - {"had", "been"}
        opens = at == 0 and after not in _ENDS
        return None if exists or opens else _mention(question, token, token, "there")
    if before in _BEFORE_THEN - {"and"} or (after in _ENDS - {","} and at > 2 and before not in _ENDS):
        return _mention(question, token, token, "then")
    return None


def _definite_at(question: str, line: Sequence[Token], at: int) -> Mention | None:
    """ "the band"; "the blue pills"; not what a name, a quotation or a clause behind it makes clear."""
    noun = at + 1
    if _normal(line, noun) in GENERAL_NOUNS:
        last = noun
    else:
        last = at
        while (
            last + 1 < len(line)
            and last - at < _DEFINITE_WORDS
            and line[last + 1].is_word
            and not line[last + 1].is_capitalized
            and line[last + 1].normal not in FUNCTION_WORDS | _NEVER_DEFINITE | _VERBS
            and line[last + 1].normal[0].isalpha()
        ):
            last += 1
        if last > at + 1 and _opens_predicate(line, at):
            last -= 1  # "Is the museum open on Mondays?", "Which port does the client use?"
        if last == at:
            return None
    if _normal(line, last + 1) in _NOT_AFTER_THE or _normal(line, last + 1) in ("one", "ones"):
        return None
    if last + 1 < len(line) and (line[last + 1].is_capitalized or line[last + 1].text in {'"', "“"}):
        return None  # "the album Thriller" needs nothing more
    return _mention(question, line[at], line[last], "the-noun")


def _opens_predicate(line: Sequence[Token], at: int) -> bool:
    """Return whether the noun phrase at *at* is the subject between an auxiliary and its predicate."""
    before = _normal(line, at - 1)
    if before in {
        "does",
        "do",
        "did",
        "can",
        "could",
        "will",
        "would",
        "should",
        "must",
        "has",
        "have",
        "had",
    }:
        return True
    return before in _BE and (at == 1 or _normal(line, at - 2) in _ENDS)
