"""
Histories and questions that lie where rules and features turn: every question is read in every history.

What the shipped conversations don't have: titles of works and bands, sections of years, nobody's title,
nicknames, twins, months that open sentences, answers of one word and of three thousand letters. All names
are invented. Most pairs make no sense, which is no harm: what is read has to stay what it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from replay.core.history import Exchange
from replay.coreference.reading.resolver import Document


def _history(*said: str, title: str = "", section: str = "", background: str = "") -> Document:
    turns = zip(said[::2], said[1::2], strict=True)
    return Document(
        question="",
        turns=tuple(Exchange(question=question, answer=answer) for question, answer in turns),
        title=title,
        section=section,
        background=background,
    )


HISTORIES: Mapping[str, Document] = {
    "singer": _history(
        "Who taught Okafor?",
        "Her aunt Keiko taught her the viola in 1958.",
        "What did she record then?",
        'In 1974 Okafor recorded the album "Salt Ledger" with her brother Tom Reed and the Tin Lanterns.',
        title="Alice Okafor (singer)",
        section="1974-1977: Salt Ledger and Glass Ferry",
        background="Alice Okafor (born 1951) is an accordionist and songwriter from Port Ellis.",
    ),
    "band": _history(
        "Why did the band break up?",
        "Rafe Mondal and Ann Lee left after the tour of 1981, and the members quarrelled.",
        "What did they do next?",
        "Mondal drove a mobile library; Lee formed The Glass Ferry with two fans.",
        title="The Tin Lanterns (band)",
        section="Breakup and reunion",
    ),
    "show": _history(
        "Who presented it?",
        "The cook Petra Holm presented it until 2004; her daughter Ida followed.",
        "Was there a book?",
        "Yes, The Second Spoon.",
        title="Two Spoons (TV series)",
        section="Plot",
        background="Two Spoons is a cooking show. It was first aired in 1999 by the channel Harbor One.",
    ),
    "nobody": _history(
        "Hello, who is Dr. J. Smith?",
        "Dr. J. Smith was a physician at the court of King Olaf.",
        "What about Mrs. Lee?",
        "Mrs. Lee, his sister, married Tom Hale's uncle in May 1877. Smith didn't come.",
    ),
    "disease": _history(
        "What is throat cancer?", "a disease of the throat", "Is it curable?", "Sometimes, if found early."
    ),
    "battle": _history(
        "Who won?",
        "General Marcus Vane won, said his officers, on March 3, 1862. Every Monday the bells ring for it.",
        "Who fell in the war?",
        "Captain Ruth Amery and her horse Juno.",
        title="Battle of Stone Bridge",
        section="1862-65",
        background="The battle was fought between the Northern League and the Army of Alder.",
    ),
    "museum": _history(
        "Who founded it?",
        "Brackwater was founded by Sir Hugh Brackwater and his wife, the clockmaker Edith Brackwater.",
        "Where is the Hall of Hours?",
        "Behind her father's workshop.",
        title="Brackwater Museum",
        background="Brackwater Museum is a museum of clocks in Leymont, a town on the river Ell.",
    ),
    "unknown": _history(
        "When was Ngozi Vrel born?",
        "CANNOTANSWER",
        "What did Vrel play?",
        "I don't know.",
        "Who managed him?",
        "Kim Sato managed him from 1990s New Harbor.",
        title="Ngozi Vrel",
        section="Early life and career",
    ),
    "one word": _history(
        "Who came?",
        "Passengers",
        "How many?",
        "Three",
        "Who else?",
        "The twins",
        "And then?",
        "their grandfather",
        title="Icebreaker Juno",
    ),
    "quotes": _history(
        "What did Zelda sing?",
        'Zelda’s song “Blue Moon” and ‘Night’, then "The Old Man and the Sea" of Ernest O\'Hara & Sons.',
        "Did people like “Blue Moon”?",
        "Critics loved it; fans, children and parents less so.",
        title="Zelda Quist",
        section="Awards, honors and the Golden Reel",
        background="In her youth she was called the Nightingale. Quist was the queen of the charts.",
    ),
    "queen": _history(
        "Whom did Mara marry?",
        "Mara married Prince Leo of Vell, and later the Duke of Ost. They had no children.",
        "What happened in 1640?",
        "The war with Ost began, which the queen had wanted to avoid, because the treaty of 1612 had ended.",
        title="Queen Mara of Alder",
        section="Marriage",
        background="Mara (1601-1655) was born in Alder and ruled it as a patient and cruel queen.",
    ),
    "software": _history(
        "Can Tallyroost import a table?",
        "Tallyroost is an app for accountants. It imports tables by File > Import; Pilar wrote that part.",
        "Who is Pilar?",
        "Pilar is the accountant who founded the company Roost Labs with Jonas.",
        title="Tallyroost (software)",
        section="Import",
    ),
    "long": _history(
        "Tell me all about Ida Moor?",
        " ".join(
            f'Moor won the Cup {1900 + n} with the team Otters {n}, "Song {n}" and the trainer Olaf Berg.'
            for n in range(8)
        ),
        "And the last race?",
        "In the last race of that long and wet season, which nobody who was there has forgotten, Moor lost "
        "to the young Petra Holm from Vell; she said that the wind was to blame, and left.",
        title="Ida Moor",
        section="Later years (1940–1944)",
    ),
    "nothing": _history(),
}
"""By name; their questions are to come."""

QUESTIONS = (
    "When was he born?",
    "Where did she go after that?",
    "Who were his parents?",
    "Was it popular, and was its name known?",
    "How did they meet?",
    "What happened to them in that year?",
    "What is its capital?",
    "Did her husband like that album?",
    "Why was that?",
    "What did this mean for the band?",
    "What else happened at that time?",
    "Did he win that season?",
    "Who was with him during those years?",
    "What did the members do with their songs?",
    "Did the album sell well?",
    "Did she see herself in it?",
    "Are they touring?",
    "Were those two songs hers?",
    "What was the name of her first album?",
    "Did Tom, when he came, meet her?",
    "What was this last work about?",
    "Who played on this record with them?",
    "What role did he have in this series?",
    "Have they left the company?",
    "What was that trainer's method?",
    "Who told these people about the war?",
    "Did Okafor and Mondal like that city?",
    "Was she happy when she won this award?",
    "Do his sons run the museum?",
    "What happened on that day in 1862?",
    "Was she Okafor?",
)

MORE_QUESTIONS = (
    "Did it rain?",
    "Is it true that she left?",
    "It seems that they won, doesn't it?",
    "How long did it take to record the album?",
    "Did it take long?",
    "Was it known that he sang?",
    "Is it possible?",
    "Did she say that he was ill?",
    "Do you think that song is good?",
    "Do you think that songs matter?",
    "Is that so?",
    "What about that?",
    "That was all?",
    "Who said that?",
    "Was this successful?",
    "Was this ship lost?",
    "Is this article about them?",
    "What does this section say?",
    "Which of these is it?",
    "Are those who left back?",
    "What were those first three albums called?",
    "What did that same year bring?",
    "What did that other well known old singer do?",
    "Did this help?",
    "Did that work?",
    "Why did that man leave?",
    "Did those people like these men?",
    "What are the series called?",
    "Was the band of his brother there?",
    "Was the album Thriller hers?",
    'Was the song "Blue" theirs?',
    "Is the city's mayor still himself?",
    "Did they see her?",
    "Did they see her again?",
    "Did they like her own songs?",
    "Did they like her early songs?",
    "Did they like her dearly?",
    'Did they like her "Blue"?',
    "Was her the right word?",
    "Whose is it, hers or theirs?",
    "Did he hurt himself, and she herself?",
    "Did the machine turn itself off by itself?",
    "Did the twins themselves do it to themself?",
    "HIS OR HERS?",
    "What's its name?",
    "What's that film's plot, and the plot of this movie?",
    "In what year was that, and in what way did that change this?",
    "What happened in this period, in that era and on those days?",
    "How did that come about?",
    "Because of that, was he sure that she knew that?",
    "Did that mean that these years were over?",
    "Did the match end the season?",
    "the band?",
    "that",
    "it",
    "",
)
"""Read in no history: which mentions they have doesn't depend on one."""


def documents() -> Iterator[tuple[str, Document]]:
    """Every question in every history, by what the pair is called in a file."""
    for name, history in HISTORIES.items():
        for question in QUESTIONS:
            yield (
                f"{name}: {question}",
                Document(
                    question=question,
                    turns=history.turns,
                    title=history.title,
                    section=history.section,
                    background=history.background,
                ),
            )
