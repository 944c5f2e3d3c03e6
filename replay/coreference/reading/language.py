"""
Which language a question is in, so that a resolver isn't made to guess at one that it can't read.

A vote of function words, without a model: a question is in the language whose small words it holds
("wann", "cuándo", "quand"). A word that two languages share ("was", "in", "no") is no evidence between
them, and words of names and titles ("de la", "von der") or that mean something in English ("die", "come")
count as one together, however many there are. Only words in small letters and the first word count, since
others may be names. Other scripts are known by their letters.

English is what nothing speaks against: a question about "La vie en rose" is not French. Where a question
is too short to tell, what was recorded of its conversation decides.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from replay.core.conversation import Conversation
from replay.coreference.reading.resolver import LONGEST_TEXT
from replay.coreference.reading.words import word_set

ENGLISH_WORDS = word_set(
    """
    a about after again against all also am an and any are as at be because been before being between both
    but by can could did do does doing don down during each else ever few for from further get give go had
    has have having he her here hers him his how i if in into is isn it its itself just know like made make
    many me more most much my name no nor not now of off on once one only or other our out over own per
    please plus say she should show since so some such tell than that the their them then there these they
    this those through to too two under until up us use very was we were what when where whether which while
    who whom whose why will with would you your
    """
)
FOREIGN_WORDS = {
    "de": (
        word_set(
            """
            aber alle allem aller alles als also am an andere anderen anderer auch auf aus bei beim bereits
            bis bist bitte brauche brauchen dabei dafür damit danach danke dann daran darauf darf darüber
            dass davon dazu dein deine dem denn deren dessen dich diese diesem diesen dieser dieses dir doch
            dort durch dürfen eher ein eine einem einen einer eines einige er erste ersten es etwas euch
            euer eure finde für gab ganz gegen geht gehört genau gibt ging habe haben hallo hast hatte
            hatten heißt hier hätte ich ihm ihn ihnen ihr ihre ihrem ihren ihrer immer in ist ja jede jeden
            jeder jemand jetzt kam kann kannst kein keine keinen kennst kosten kostet können könnte könnten
            lange lassen liegt machen macht mehr mein meine meinem meinen meiner mich mir mit muss musste
            möchte möchten müssen nach nachdem neben nein nicht nichts noch nun nur ob oder ohne schon sehr
            seid sein seine seinem seinen seiner seit sich sie sind so soll sollte sollten sondern sonst
            sowie statt um und uns unser unsere unter viel viele vielen vom vor wann warum was weil weiter
            weitere welche welchem welchen welcher welches wem wenn wer werde werden weshalb wie wieder
            wieso wieviel will wir wird wirklich wo wofür woher wohin wollen wollte worden worüber wozu
            wurde wurden während wäre würde würden zu zum zur zwischen über
            """
        ),
        word_set("bin das den der des die hat hin man von war"),
    ),
    "es": (
        word_set(
            """
            algo alguna alguno algún ante antes aquel aquella aquí así aunque años aún bien busco cada casi
            cerca como cual cualquier cuando cuanta cuanto cuesta cuál cuáles cuándo cuánta cuántas cuánto
            cuántos cómo dame debo decir desde después donde durante dónde ellas ellos eran eres es esa ese
            eso esos esta estaba estar estas este esto estos estoy está están fue fueron ganó gracias ha
            había habían hace hacer hacia han hasta hay he hizo hola igual llama llamaba me menos mientras
            mis mucho muchos muy más mí nació necesito no nos nosotros nuestra nuestro nuestros nunca otra
            otras otro otros para pero poco podría por porque pudo puede pueden puedes puedo pues que quien
            quiere quiero quién quiénes qué se según ser será siempre sino su sus suyo sí sólo también
            tampoco tan tanto te tendrá tener tengo tenía tiene tienen toda todas todavía todo todos tu
            tuvieron tuvo tú un una unas uno unos usted ustedes va vez vivió yo ¡ ¿ él
            """
        ),
        word_set("a al con de del el ella en era la las le les lo los sea si sin sobre son"),
    ),
    "fr": (
        word_set(
            """
            ainsi alors après aucun aucune aujourd aussi autre autres aux avaient avait avec avez avoir
            avons beaucoup bien bonjour ce cela celle celui ces cet cette ceux chaque cherche chez combien
            comme contre coûte dans depuis dernier deux dois donc elle elles encore es est eu eux faire faut
            furent fut ici ils jamais je jusqu jusque leur leurs lors lorsque lui là laquelle lequel
            lesquels mais me merci mes mieux moi moins mon même nos notre nous né née on ou oui où parce pas
            pendant peu peut peuvent peux plus plusieurs pourquoi pourrait pouvez première puis puisque qu
            quand que quel quelle quelles quelque quelques quels qui quoi rien sans se selon sera ses
            seulement si sommes sont sous souvent suis toi tous tout toute toutes trop très tu une va vers
            veut veux voici voilà voir vont vos votre vous à ça étaient était être
            """
        ),
        word_set(
            "a ai au car comment de des du en entre et fait il juste l la le les ma ne pour sa son sur un"
        ),
    ),
    "it": (
        word_set(
            """
            abbia abbiamo agli ai alcune alcuni alla alle allo allora altra altre altri altro anche ancora
            anni avere aveva avevano avuto bene che chi ci cioè com cosa costa così cui dagli dai dalla
            dalle degli dei dell della delle dello deve devo dopo dov durante erano essere fa fatto fino fra
            fu furono già gli grazie ha hai hanno ho invece lei loro lui ma mai meglio mentre mio molti
            molto nata nato nei nell nella nelle nello nessun nessuno niente noi nostra nostro ogni oltre
            perché però più poi posso possono può qual quale quali quando quanta quante quanti quanto quasi
            quel quella quelle quelli quello questa queste questi questo qui quindi sarà secondo sempre
            senza sia siamo siete sono sopra sotto stata stati stato sua sugli sul sulla sulle suo suoi tra
            tutta tutte tutti tutto un una uno vengono viene voi vorrei vostra vostro è
            """
        ),
        word_set(
            "al come con da dal del di dove era fare i il io la le lo mi mia per prima se sei si solo su"
        ),
    ),
    "nl": (
        word_set(
            """
            aan achter alle allemaal als altijd ander andere anders beter bij binnen boven daar daarna dank
            dat deze dit doen doet dus echt een eens eerst eerste elke gaan gaat geboren gebruik gedaan geen
            geweest graag haar had hadden heb hebben hebt heeft hier hij hoe hoelang hoeveel hun ik in is ja
            jaar jij jouw jullie komt kost kosten krijgt kun kunnen kunt laat maakt maar maken me meer meest
            mij mijn moet moeten mogen naar nadat niet niets nodig nog nooit omdat onder ons onze ook
            opnieuw over sinds sommige staan staat tegen terug tijdens toch toen tussen uit uw vaak vanaf
            veel volgens voor vooral vroeg waar waarin waarom waarop waarvan wanneer was wat we weer welk
            welke werd werden weten wie wij wil worden wordt zal ze zei zelf zich zij zijn zo zoals zonder
            zou zouden
            """
        ),
        word_set("al dan de den die door en er hen het kan man met of om op te ten ter tot van want wel"),
    ),
    "pt": (
        word_set(
            """
            ainda algo algum alguma alguns alguém além antes ao aos apenas após aquela aquele aqui aquilo
            até cada como contra custa dela dele deles depois desde deve disse dizer duas durante ela elas
            ele eles entre eram essa esse esta estar este estes está estão eu existe faz fazer fez ficou foi
            foram há isso isto já lhe lá mais mas me melhor menos mesmo meu minha muito muitos nada nasceu
            nem nenhum nossa nosso numa nunca não obrigada obrigado onde ou outra outras outro outros para
            pela pelas pelo pelos pode podem pois porque posso pouco preciso primeira primeiro quais qual
            quando quanta quantas quanto quantos que quem quer quero seja sem sempre sendo ser será seu seus
            sobre somente sua suas só também tem tenho ter teve tinha toda todas todo todos tudo têm uma
            umas uns vai vez você vocês
            """
        ),
        word_set("a as com da das de do dos e em era na nas no nos num o os por se um"),
    ),
}
"""By ISO 639 code: the language's words, and those of them that names, titles and English texts hold too."""

ENGLISH_ONLY = frozenset({"en"})
"""What a resolver reads that says nothing of it."""

_OTHER = "other"
_NAMES = {
    "en": "English",
    "de": "German",
    "es": "Spanish",
    "fr": "French",
    "it": "Italian",
    "nl": "Dutch",
    "pt": "Portuguese",
    "cjk": "Chinese characters",
    _OTHER: "letters that English lacks",
}

_WEAK = {code: weak - ENGLISH_WORDS for code, (_, weak) in FOREIGN_WORDS.items()}
_OWN = {code: own - weak - ENGLISH_WORDS for code, (own, weak) in FOREIGN_WORDS.items()}
_SHARED = {code: (own | weak) & ENGLISH_WORDS for code, (own, weak) in FOREIGN_WORDS.items()}
_FOREIGN = frozenset[str]().union(*_OWN.values())

_OPENING = "¿¡"
# No parts of identifiers, addresses and file names.
_WORD = re.compile(r"(?<![\w@/\\])(?<!\w\.)[^\W\d_]+(?![\w@/\\]|\.\w)|[¿¡]")
_SCRIPTS_START, _SYLLABLES_START = "\u0370", "\u2e80"
_SYLLABLE = 3
"""What a Chinese, Japanese or Korean letter counts against Latin ones."""
_CLEAR = 3
"""So many votes need no other evidence; fewer may be a name or a title."""


@dataclass(frozen=True, slots=True)
class _Votes:
    """What the words of a text say."""

    english: frozenset[str]
    """Its words that are English, whatever else they are."""
    foreign: Mapping[str, int]
    """Votes for the other languages that have any."""


def _winner(votes: Sequence[_Votes]) -> tuple[str, int, int]:
    """Return the most probable language beside English, votes for it, and votes for English against it."""
    totals: Counter[str] = Counter()
    for one in votes:
        totals.update(one.foreign)
    if not totals:
        return _OTHER, 0, sum(len(one.english) for one in votes)

    def english(code: str) -> int:
        return sum(len(one.english - _SHARED.get(code, frozenset())) for one in votes)

    # Of two with as many votes, the one that has more of the text's English words too.
    code = max(totals, key=lambda code: (totals[code], -english(code)))
    return code, totals[code], english(code)


def _clear(votes: Sequence[_Votes]) -> str | None:
    code, own, english = _winner(votes)
    if own >= _CLEAR and own > 2 * english:
        return code
    return "en" if english >= 2 and english > own else None


def not_readable(question: str, conversation: Conversation, languages: frozenset[str] | None) -> str | None:
    """
    Return why a resolver can't read *question*, in words; None if it can.

    No resolver reads a question of more than ``LONGEST_TEXT`` characters.

    Args:
        question: The question to read.
        conversation: The conversation it belongs to, which helps to tell the language.
        languages: The resolver's languages, codes as of ``language_of``; None for all. A question whose
            language can't be told can be read.
    """
    if len(question) > LONGEST_TEXT:
        return f"the question is longer than {LONGEST_TEXT:,} characters"
    if languages is None:
        return None
    found = language_of(question, conversation)
    if found is None or found in languages:
        return None
    wanted = " or ".join(_name(code) for code in sorted(languages))
    return f"the question is not {wanted} ({_name(found)})"


def language_of(question: str, conversation: Conversation) -> str | None:
    """
    Return the language code of a question of *conversation*; None if it can't be told.

    ``en``, ``de``, ``es``, ``fr``, ``it``, ``nl``, ``pt`` (ISO 639), another script's Unicode name in
    small letters (``cyrillic``, ``arabic``, ``cjk``), or ``other`` for letters that English lacks.
    """
    votes = [_question_votes(question)]
    if (clear := _clear(votes)) is not None:
        return clear
    texts = (text for turn in conversation.turns for text in (turn.question, turn.gold_answer) if text)
    if (around := _language_of_all(tuple(texts))) is not None:
        return around
    code, own, english = _winner(votes)
    return code if code != _OTHER and own >= 1 and own > 2 * english else None


# Answers may be long: no more of them is held than of the conversations that are being played.
@lru_cache(maxsize=128)
def _language_of_all(texts: tuple[str, ...]) -> str | None:
    return _clear([_votes(text) for text in texts])


def _votes(text: str) -> _Votes:
    ascii_only = text.isascii()
    if not ascii_only:
        # Letters with their accents, and those of formulas and of full width, in one form.
        text = unicodedata.normalize("NFKC", text)
    found = _WORD.findall(text)
    first = next((word for word in found if word.isalpha()), "")
    words = {word for word in found if word[0].islower() or word in _OPENING}
    words.add(first.lower())
    english = ENGLISH_WORDS.intersection(words)
    if ascii_only and words.isdisjoint(_FOREIGN):
        return _Votes(english, {})
    accented = {word for word in words if not word.isascii() and word.isalpha() and _is_latin(word[0])}
    foreign = {
        code: len(words & own) + len(accented - own) + (not words.isdisjoint(_WEAK[code]))
        for code, own in _OWN.items()
        if not words.isdisjoint(own)
    }
    if accented and not foreign:
        foreign[_OTHER] = len(accented)
    if not ascii_only and (script := _other_script(text)):
        foreign[script] = _CLEAR
    return _Votes(english, foreign)


_question_votes = lru_cache(maxsize=2048)(_votes)


def _other_script(text: str) -> str | None:
    """Return the script of most letters, if that is not Latin."""
    foreign = [c for c in text if c.isalpha() and unicodedata.category(c) != "Lm" and not _is_latin(c)]
    latin = sum(c.isalpha() for c in text) - len(foreign)
    weight = sum(_SYLLABLE if c >= _SYLLABLES_START else 1 for c in foreign)
    if weight < 2 or weight <= latin:
        return None
    return Counter(unicodedata.name(c, "?").partition(" ")[0] for c in foreign).most_common(1)[0][0].lower()


def _is_latin(letter: str) -> bool:
    return letter < _SCRIPTS_START or unicodedata.name(letter, "").startswith("LATIN")


def _name(code: str) -> str:
    return _NAMES.get(code, f"{code.capitalize()} script")
