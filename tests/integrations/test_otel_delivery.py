"""Spans reach where they should, or a sentence says what did not; the run minds neither."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason='needs pip install "convreplay[otel]"')

from aiohttp import web
from opentelemetry import propagate, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, ParentBased

from replay.datasets.otlp import OtlpReader
from replay.results.telemetry import Export, exporters
from replay.runs.launch import resume_async, run_async
from tests.adapters.servers import answering, completion, in_a_thread, unused_address
from tests.cli.command import replay_cli
from tests.data_tables import from_table
from tests.integrations.collecting import Collector
from tests.scenario.keys import in_time, played, python, scenario, talk
from tests.waiting import until_async

TALKS = [talk("a", 2), talk("b", 3)]


class Noticing:
    """An observer that keeps what it is told."""

    def __init__(self):
        self.sentences = []

    def recorded(self, record): ...
    def played(self, play): ...
    def noticed(self, sentence):
        self.sentences.append(sentence)


@asynccontextmanager
async def traced_model(collector: str):
    """A chat server whose own spans go to *collector*, instrumented by hand with OpenTelemetry's SDK."""
    provider = TracerProvider(
        sampler=ParentBased(ALWAYS_ON), resource=Resource({"service.name": "model"}), shutdown_on_exit=False
    )
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{collector}/v1/traces")))
    tracer = provider.get_tracer("model")

    async def answer(request: web.Request) -> web.Response:
        context = propagate.extract(dict(request.headers))
        span = tracer.start_span("POST /v1/chat/completions", context=context, kind=trace.SpanKind.SERVER)
        await asyncio.to_thread(span.end)  # which sends it, in this process to this loop
        return web.json_response(completion("Yes."))

    async with answering(answer) as address:
        yield {"adapter": "openai", "settings": {"base_url": f"{address}/v1", "model": "m"}}


@pytest.mark.parametrize("load", [None, {"conversations": 12}])
async def test_a_servers_own_trace_joins_ours_where_it_is_sampled(tmp_path, load):
    collector = Collector()
    async with collector.running() as address, traced_model(address) as model:
        more = {"load": load} if load else {}
        telemetry = {"endpoint": address, "sample": 0.5}
        talks = [talk(f"t{n}", 2) for n in range(12)]
        await played(tmp_path, talks=talks, system=model, telemetry=telemetry, **more)
    assert {result.trace for result in collector.results} == {span.trace for span in collector.named("play")}
    theirs = [span for span in collector.spans if span.resource["service.name"] == "model"]
    asks = {span.id: span for span in collector.named("chat")}
    assert 0 < len(asks) < 24
    assert len(theirs) == len(asks), "who is not sampled is not sampled there either"
    for span in theirs:
        ask = asks[span.parent]
        assert span.trace == ask.trace
        assert ask.begin <= span.begin <= span.end <= ask.end


async def test_spans_come_while_the_run_goes_on(tmp_path):
    """The last turn is answered only once the first one's span is there."""
    collector = Collector()
    got = asyncio.Event()

    async def answer(request: web.Request) -> web.Response:
        if "b 3?" in await request.text():
            await until_async(lambda: bool(collector.named("chat")))
            got.set()
        return web.json_response(completion("Yes."))

    async with collector.running() as address, answering(answer) as model:
        system = {"adapter": "openai", "settings": {"base_url": f"{model}/v1", "model": "m"}}
        await played(tmp_path, talks=TALKS, system=system, telemetry={"endpoint": address})
    assert got.is_set()
    assert len(collector.named("chat")) == 5
    assert len(collector.named("play")) == 2


async def test_a_collector_that_is_away_costs_nothing_but_the_spans_which_can_be_sent_later(tmp_path, capfd):
    away = await unused_address()
    watching = Noticing()
    file = scenario(tmp_path, talks=TALKS, telemetry={"endpoint": away})
    run = await in_time(run_async(file, runs=tmp_path / "runs", observer=watching))
    assert [record.outcome for record in run.records()] == ["answered"] * 5
    assert run.state().finished
    (sentence,) = watching.sentences
    assert sentence.startswith(f"12 spans and 5 scores were not sent to {away}: Connection refused; ")
    assert sentence.endswith(f"replay export {run.folder} --table spans")
    assert capfd.readouterr() == ("", ""), "the library's own warnings are not ours to print"


async def test_a_collector_that_refuses_is_told_with_its_words(tmp_path):
    collector, watching = Collector(status=403), Noticing()
    async with collector.running() as address:
        file = scenario(tmp_path, talks=TALKS, telemetry={"endpoint": address})
        await in_time(run_async(file, runs=tmp_path / "runs", observer=watching))
    assert ": Forbidden (403); " in watching.sentences[0]


async def test_a_resumed_run_goes_on_in_the_same_traces(tmp_path):
    collector = Collector()
    (tmp_path / "bot.py").write_text(
        "import asyncio, pathlib\n"
        "async def answer(question):\n"
        "    if question == 'b 2?' and not pathlib.Path(__file__).with_name('go').exists():\n"
        "        await asyncio.Event().wait()\n"
        "    return 'Yes.'\n",
        "utf-8",
    )
    system = {"adapter": "python", "settings": {"target": "bot.py:answer"}}
    async with collector.running() as address:
        file = scenario(tmp_path, talks=TALKS, system=system, telemetry={"endpoint": address})
        running = asyncio.create_task(run_async(file, runs=tmp_path / "runs"))
        await until_async(lambda: len(collector.named("chat")) == 3)
        running.cancel()
        await asyncio.wait([running])
        assert len(collector.named("play")) == 1
        assert collector.results == []
        (tmp_path / "go").touch()
        (folder,) = (tmp_path / "runs").iterdir()
        await in_time(resume_async(folder))
    asks, plays = collector.named("chat"), collector.named("play")
    assert len({span.id for span in asks}) == len(asks) == 5
    assert sorted(span.attributes["convreplay.turns"] for span in plays) == [2, 3]
    assert {span.trace for span in asks} == {span.trace for span in plays}
    assert len(collector.results) == 5


async def test_variables_say_where_to_and_with_which_headers_and_keys_stay_hidden(tmp_path, monkeypatch):
    collector = Collector()
    async with collector.running() as address:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=very-secret-0815")
        monkeypatch.setenv("OTEL_SERVICE_NAME", "nightly")
        bot = python(tmp_path, "def answer(question): return 'The key is very-secret-0815.'")
        run = await played(tmp_path, talks=TALKS, system=bot, telemetry={"content": True})
    assert {headers["api-key"] for headers in collector.headers} == {"very-secret-0815"}
    assert {span.resource["service.name"] for span in collector.spans} == {"nightly"}
    assert "very-secret" not in str(collector.spans)
    assert "very-secret" not in str(run.records())


async def test_an_address_for_traces_alone_gets_no_scores(tmp_path, monkeypatch):
    collector, watching = Collector(), Noticing()
    async with collector.running() as address:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{address}/v1/traces")
        file = scenario(tmp_path, talks=TALKS, telemetry={})
        await in_time(run_async(file, runs=tmp_path / "runs", observer=watching))
    assert len(collector.spans) == 12
    assert collector.results == []
    assert watching.sentences == []


async def test_a_play_that_a_load_cuts_short_has_a_span_around_it_all_the_same(tmp_path):
    collector = Collector()
    async with collector.running() as address:
        telemetry = {"endpoint": address, "sample": 1}
        await played(tmp_path, talks=[talk("a", 9)], load={"turns": 4, "concurrency": 1}, telemetry=telemetry)
    (play,) = collector.named("play")
    assert play.attributes["convreplay.turns"] == len(collector.named("turn")) == 4


async def test_questions_and_answers_are_sent_only_where_that_is_asked_for(tmp_path):
    for content in (False, True):
        collector = Collector()
        async with collector.running() as address:
            telemetry = {"endpoint": address, "content": content}
            await played(tmp_path, talks=TALKS, telemetry=telemetry)
        assert ("a said 1." in str(collector)) == content
        assert ("a 1?" in str(collector)) == content


async def test_what_is_written_into_a_file_is_read_back_as_the_same_conversations(tmp_path):
    """Half of a surrogate pair, which no encoding of OTLP's can hold, keeps nothing from being written."""
    bot = python(tmp_path, "def answer(question): return 'Half \\ud83d of ' + question")
    run = await played(tmp_path, talks=TALKS, system=bot, telemetry={"file": "spans.jsonl", "content": True})
    lines = [json.loads(line) for line in (tmp_path / "spans.jsonl").read_text("utf-8").splitlines()]
    assert [list(line) for line in lines] == [["resourceSpans"], ["resourceLogs"]]
    path = tmp_path / "spans.jsonl"
    assert OtlpReader().recognizes(path, path.read_bytes()[:4096])
    found = {
        conversation.id.partition("/")[0]: [(t.question, *t.gold_answers) for t in conversation.turns]
        for conversation in OtlpReader().read(path)
    }
    expected = {}
    for record in run.records():
        pair = (record.asked, str(record.answer).replace("\ud83d", "?"))
        expected.setdefault(record.conversation, []).append(pair)
    assert found == expected
    assert found["a"][0] == ("a 1?", "Half ? of a 1?")


async def test_a_finished_run_is_exported_as_it_would_have_been(tmp_path):
    live, later = Collector(), Collector()
    async with live.running() as address:
        run = await played(tmp_path, talks=TALKS, telemetry={"endpoint": address})
    async with later.running() as address:
        (one,) = exporters(run.folder, Export(is_sent=True, endpoint=address))
        assert await asyncio.to_thread(one.finish, finished=True) is None
    by_id = lambda span: span.id  # noqa: E731
    assert sorted(live.spans, key=by_id) == sorted(later.spans, key=by_id)
    assert sorted(map(str, live.results)) == sorted(map(str, later.results))


@pytest.fixture
def songs(tmp_path):
    """A scenario beside its data."""
    scenario(tmp_path, talks=TALKS)
    return tmp_path


def test_the_command_line_sends_a_run_as_it_is_played_and_again(songs):
    collector = Collector()
    with in_a_thread(collector.running()) as address:
        for command in (("run",), ("stress", "--conversations", 2)):
            done = replay_cli(*command, "keys.yaml", "--otlp", address, cwd=songs)
            assert done.returncode == 0, done.stderr
            assert len(collector.named("play")) in (2, 3), "under load one in a hundred"
        before = len(collector.named("play"))
        done = replay_cli("export", "--table", "spans", "--otlp", address, cwd=songs)
        assert (done.returncode, done.stdout) == (0, "")
        assert len(collector.named("play")) == before + 2
    failed = replay_cli("export", "--table", "spans", "--otlp", address, cwd=songs)
    assert failed.returncode != 0
    assert "were not sent" in failed.stderr


def test_the_command_line_writes_spans_as_lines_of_json(songs):
    replay_cli("run", "keys.yaml", cwd=songs)
    for content in ((), ("--content",)):
        shown = replay_cli("export", "--table", "spans", *content, cwd=songs)
        written = replay_cli("export", "--table", "spans", *content, "--out", "spans.jsonl", cwd=songs)
        assert (written.returncode, written.stdout) == (0, ""), written.stderr
        lines = [json.loads(line) for line in (songs / "spans.jsonl").read_text("utf-8").splitlines()]
        assert [json.loads(line).keys() for line in shown.stdout.splitlines()] == [
            one.keys() for one in lines
        ]
        assert ("a said 1." in str(lines)) == bool(content)


@from_table
def test_what_does_not_go_together_is_said(songs, arguments, said):
    replay_cli("run", "keys.yaml", cwd=songs)
    done = replay_cli("export", *arguments, cwd=songs)
    assert done.returncode == 2
    assert said in done.stderr
