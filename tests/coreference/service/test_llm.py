"""A model as resolver, over real HTTP: what it is shown and asked, and what becomes of its replies."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import replace

import numpy
import pytest

from replay.core.asking.costs import Prices, PriceTable
from replay.core.errors import PluginError, ReadingError, ResolverError, ScenarioError
from replay.core.history import Exchange, PlayedTurn
from replay.coreference import load
from replay.coreference.drift import DriftDetector
from replay.coreference.reading.resolver import Document
from replay.coreference.service.llm import fit_histories, needs_asking
from replay.coreference.service.service import CoreferenceService, ResolverChoice
from tests.coreference.asked_model import choice, history, honest, resolver
from tests.data_tables import from_table
from tests.samples import SINGER, conversation
from tests.scorers.judges.servers import broken, judge_server

GOLD = Document(
    question="Where was she born?",
    title="Stone Garden",
    turns=(Exchange(question="Who sang it?", answer="Alice Okafor sang it."),),
)
OWN = replace(GOLD, turns=(Exchange(question="Who sang it?", answer="Ben Achterberg sang it."),))


@asynccontextmanager
async def asked_detector(reply, folder, encoder=None, **settings):
    async with (
        judge_server(reply) as server,
        CoreferenceService(choice(server, folder), workers=0, encoder=encoder) as service,
    ):
        yield DriftDetector(service=service, **settings)


async def test_one_ask_reads_both_histories(tmp_path):
    async with judge_server(honest) as server, resolver(server, tmp_path) as asked:
        drift = await asked.compare(GOLD, OWN)
    ((prompt,), (mention,)) = (server.prompts, drift.mentions)
    assert "Alice Okafor" in history(prompt, "recorded")
    assert "Alice Okafor" not in history(prompt, "own")
    assert "Ben Achterberg" in history(prompt, "own")
    assert "Title: Stone Garden" in prompt
    assert (mention.gold.antecedent, mention.predicted.antecedent) == ("Alice Okafor", "Ben Achterberg")
    assert (drift.valid, mention.state, drift.mode) == (False, "drifted", "llm")
    assert server.bodies[0]["temperature"] == 0


async def test_equal_histories_are_valid_and_nobody_is_asked(tmp_path):
    """By law: nothing that a model says can make them differ."""
    async with judge_server("nonsense") as server, resolver(server, tmp_path) as asked:
        drift = await asked.compare(GOLD, replace(GOLD))
        nothing_said = await asked.read(Document(question="Who was she?"))
    assert (drift.valid, drift.mentions, drift.probability, drift.mode) == (True, (), 0.0, "llm")
    assert nothing_said == ()
    assert server.bodies == []


@pytest.mark.parametrize("known", ["title", "section", "background"])
def test_a_question_can_lean_on_what_is_known_beforehand(known):
    assert needs_asking(Document(question="Who was she?", **{known: "Ann Lee"}))


async def test_the_recorded_history_alone_is_asked_about_once(tmp_path):
    async with judge_server(honest) as server, resolver(server, tmp_path) as asked:
        for _ in range(3):
            (reading,) = await asked.read(GOLD)
    assert (reading.antecedent, reading.source) == ("Alice Okafor", "answer")
    (prompt,) = server.prompts
    assert "own_history" not in prompt
    assert "meaning" not in prompt


async def test_a_reply_that_cant_be_used_is_shown_to_the_model_once_with_the_reason(tmp_path):
    wrong = json.dumps({"references": [{"text": "she", "recorded": "Bob", "own": None, "same": False}]})

    def reply(prompt, number):
        return wrong.replace("}]", '}], "meaning": "other"') if number == 1 else honest(prompt, number)

    async with judge_server(reply) as server, resolver(server, tmp_path) as asked:
        drift = await asked.compare(GOLD, OWN)
    first, second = server.prompts
    assert drift.mentions[0].gold.antecedent == "Alice Okafor"
    assert second.startswith(first)
    assert '<reply>{"references": [{"text": "she", "recorded": "Bob"' in second
    assert '"Bob" in "recorded" does not stand in that history' in second
    assert (asked.tally.asks, asked.tally.unscored, asked.tally.failed_asks) == (2, 0, 0)


@pytest.mark.parametrize(
    ("reply", "why", "asks", "failure"),
    [
        (
            "She is Alice.",
            "gave no usable reading: the reply holds no JSON object",
            2,
            "holds no JSON object",
        ),
        (lambda *_: broken(), r"gave no reply \(refused\)", 1, "500"),
    ],
    ids=["two that can't be used", "none"],
)
async def test_without_a_usable_reply_there_is_no_verdict(tmp_path, reply, why, asks, failure):
    async with judge_server(reply) as server, resolver(server, tmp_path) as asked:
        with pytest.raises(ReadingError, match=why):
            await asked.compare(GOLD, OWN)
    assert len(server.bodies) == asks
    assert (asked.tally.verdicts, asked.tally.unscored, asked.tally.failed_asks) == (1, 1, 1)
    assert failure in asked.tally.first_failure


async def test_a_wording_that_fails_twice_costs_no_verdict(tmp_path):
    def reply(prompt, number):
        return json.dumps({**json.loads(honest(prompt, number)), "standalone": "Where was the singer born?"})

    async with judge_server(reply) as server, resolver(server, tmp_path) as asked:
        drift = await asked.compare(GOLD, OWN)
    assert '"standalone" doesn\'t name "Alice Okafor"' in server.prompts[1]
    assert len(server.prompts) == 2
    assert (drift.valid, drift.mentions[0].gold.put, asked.tally.unscored) == (False, None, 0)


async def test_replies_are_kept_from_run_to_run(tmp_path):
    """Found by what was asked: both histories, the question and the parameters."""
    elsewhere = replace(OWN, turns=(Exchange(question="Who sang it?", answer="Cy Twombly sang it."),))
    asks = []
    async with judge_server(honest) as server:

        async def compared(gold, own, **settings):
            async with resolver(server, tmp_path, cache="kept.db", **settings) as asked:
                assert not (await asked.compare(gold, own)).valid
            asks.append((asked.tally.asks, asked.tally.cached, asked.tally.prompt_tokens))

        await compared(GOLD, OWN)
        await compared(GOLD, OWN)
        await compared(GOLD, elsewhere)
        await compared(elsewhere, OWN)
        await compared(*(replace(one, question="Is she old?") for one in (GOLD, OWN)))
        await compared(GOLD, OWN, parameters={"temperature": 1})
    assert asks == [(1, 0, 100), (0, 1, 0), *[(1, 0, 100)] * 4]
    assert (tmp_path / "kept.db").exists()


async def test_what_it_costs_is_counted(tmp_path):
    """By prices of its own, or those of the scenario's table; 100 and 2 tokens."""
    table = PriceTable({"m": Prices(prompt_usd=10_000, completion_usd=100_000)})
    costs = []
    async with judge_server(honest) as server:
        for own in ({}, {"prices": {"prompt_usd": 20_000, "completion_usd": 0}}):
            async with resolver(server, tmp_path, table=table, **own) as asked:
                await asked.compare(GOLD, OWN)
            costs.append(asked.tally.cost_usd)
    assert costs == [pytest.approx(1.2), pytest.approx(2.0)]


def test_everything_that_moves_a_reading_shows_in_the_signature(tmp_path):
    (tmp_path / "own.txt").write_text("{{ question }} {{ own }}")
    base = {"adapter": "openai", "settings": {"base_url": "http://127.0.0.1:1/v1", "model": "m"}}
    other = {**base["settings"], "model": "n"}
    signatures = []
    for more in (
        {},
        {"settings": other},
        {"prompt": "own.txt"},
        {"parameters": {"seed": 1}},
        {"history_characters": 500},
    ):
        made = ResolverChoice(name="llm", settings={**base, **more}, folder=tmp_path)
        service = CoreferenceService(made, workers=0)
        signatures.append(DriftDetector(service=service).signature)
    assert len(set(signatures)) == 5
    assert signatures[0].startswith("coref:llm(openai/m@")
    assert signatures[0].endswith("|drift:llm-2|window:6")


@from_table
def test_faults_are_found_before_anything_is_asked(tmp_path, settings, why):
    (tmp_path / "typo.txt").write_text("{{ own }} {{ histroy }}")
    (tmp_path / "blind.txt").write_text("{{ question }} {{ recorded }}")
    with pytest.raises(ScenarioError) as caught:
        CoreferenceService(ResolverChoice(name="llm", settings=settings, folder=tmp_path))
    assert why in str(caught.value)
    assert all(fault.path.startswith("drift.settings") for fault in caught.value.faults)


def test_who_asks_one_question_at_a_time_is_told_that_it_takes_a_scenario():
    with pytest.raises(PluginError, match="only a scenario can use it"):
        load("llm", {"adapter": "scripted"})


async def test_the_detector_shows_what_lies_in_the_window(tmp_path):
    played = [
        PlayedTurn(turn=turn, asked=turn.question, answer=answer)
        for turn, answer in zip(SINGER.turns, ("Ben Achterberg sang it.", "In Leymont.", "Cy."), strict=False)
    ]
    async with judge_server(honest) as server:
        made = choice(server, tmp_path)
        async with CoreferenceService(made, workers=0) as service:
            near = DriftDetector(service=service, window=1, background=False)
            assert (await near.assess(SINGER, 3, played[:2])).drift.valid is None
            far = DriftDetector(service=service)
            assessed = await far.assess(SINGER, 3, played[:2])
            (reading,) = await far.gold_readings(SINGER, 3)
    assert "Title" not in server.prompts[0]
    assert "sang it" not in history(server.prompts[0], "recorded")
    assert not assessed.drift.valid
    assert (reading.mention.text, reading.antecedent, reading.source) == ("her", "Alice Okafor", "answer")


async def test_the_evidence_says_how_many_texts_the_model_saw_in_part(tmp_path):
    """Half the budget is the most of one text, which is less than other resolvers are shown."""
    answers = [f"Ben Achterberg sang it.{' ' * length}" for length in (6_000, 25_000)]
    long = [
        PlayedTurn(turn=t, asked=t.question, answer=a) for t, a in zip(SINGER.turns, answers, strict=False)
    ]
    async with asked_detector(honest, tmp_path) as found:
        drift = (await found.assess(SINGER, 3, long)).drift
    assert (drift.valid, drift.shortened) == (False, 2)


async def test_any_language_is_read(tmp_path):
    turns = ("Wer sang das?", "Alice Okafor sang es."), ("Wo wurde sie geboren?", "In Port Ellis.")
    german = conversation(*turns)
    played = [PlayedTurn(turn=german.turns[0], asked="Wer sang das?", answer="Ben Achterberg sang es.")]
    nothing = json.dumps({"references": [], "meaning": "same"})
    async with asked_detector(nothing, tmp_path) as found:
        assert (await found.assess(german, 2, played)).drift.valid
        assert found.service.asked.tally.asks == 1


class Encoder:
    signature = "first-letter"

    def encode(self, text):
        return numpy.array([float(text[0] == "A"), float(text[0] != "A")])


SHE_AFTER_BEN = [PlayedTurn(turn=SINGER.turns[0], asked="Who sang it?", answer="Ben Achterberg sang it.")]


async def test_where_no_history_says_what_is_meant_the_meaning_of_answers_gives_no_verdict(tmp_path):
    nobody = {"text": "she", "recorded": None, "own": None, "same": True}
    reply = json.dumps({"references": [nobody], "meaning": "same"})
    async with asked_detector(reply, tmp_path, encoder=Encoder(), min_similarity=0.5) as found:
        assert (await found.assess(SINGER, 2, SHE_AFTER_BEN)).drift.valid is None


async def test_without_a_reading_the_meaning_of_answers_gives_no_verdict(tmp_path):
    async with asked_detector("Who knows?", tmp_path, encoder=Encoder(), min_similarity=0.5) as found:
        drift = (await found.assess(SINGER, 2, SHE_AFTER_BEN)).drift
        assert drift == await found.gold_readings(SINGER, 2)
    assert (drift.valid, drift.mode) == (None, "llm")
    assert drift.kind_not_judged == "the model gave no usable reading"


async def test_the_meaning_of_answers_is_compared_beside_it(tmp_path):
    async with asked_detector(honest, tmp_path, encoder=Encoder()) as found:
        drift = (await found.assess(SINGER, 2, SHE_AFTER_BEN)).drift
    assert (drift.mode, drift.semantic.answers) == ("llm", 0.0)


async def test_the_published_rule_cant_be_had_of_it(tmp_path):
    async with asked_detector(honest, tmp_path, mode="evalconvqa") as found:
        with pytest.raises(ResolverError, match="a model gives no clusters"):
            await found.assess(SINGER, 2, SHE_AFTER_BEN)


async def test_a_cache_that_cant_be_used_is_told_and_stops_nobody(tmp_path):
    (tmp_path / "kept.db").write_text("no database, and much longer than one line of a header " * 20)
    async with judge_server(honest) as server, resolver(server, tmp_path, cache="kept.db") as asked:
        drift = await asked.compare(GOLD, OWN)
    assert not drift.valid
    assert "can't be used" in "".join(asked.tally.sentences())


def document(*lengths, background=""):
    """Exchanges whose answers have *lengths* and begin with their number."""
    turns = tuple(
        Exchange(question="?" * 10, answer=f"{n}".ljust(length, ".")) for n, length in enumerate(lengths, 1)
    )
    return Document(question="Why?", turns=turns, background=background)


def shown(*documents, characters=200):
    return [[turn.answer[0] for turn in one.turns] for one in fit_histories(documents, characters)]


def test_what_fits_stays_as_it_is_and_else_the_oldest_exchanges_give_way_whole():
    """In the other history as well; a shorter one, of a filtered conversation, cuts none."""
    (whole,) = fit_histories([document(40, 50, 70)], 200)
    assert whole == document(40, 50, 70)
    assert shown(document(80, 80, 80)) == [["2", "3"]]
    assert shown(document(80, 80, 80), document(5, 5, 5)) == [["2", "3"], ["2", "3"]]
    assert shown(document(80, 80, 80), document(5)) == [["2", "3"], ["1"]]
    assert shown(document(5, 5, 5), document()) == [["1", "2", "3"], []]


def test_the_newest_exchange_is_always_shown_without_the_middle_of_what_is_too_long():
    long = document(95, 9_000, background="b" * 9_000)
    (one,) = fit_histories([long], 200)
    (turn,) = one.turns
    assert turn.answer == f"2{'.' * 47}\n…\n{'.' * 48}"
    assert len(one.background) == 99
    assert one.shortened == 2
    both = Exchange(question="q" * 500, answer="a" * 500)
    (one,) = fit_histories([Document(question="Why?", turns=(both, both))], 200)
    assert len(one.turns) == 1
