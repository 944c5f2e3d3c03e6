"""What `replay validate` says that a scenario runs, talks to and sends, without running any of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from replay.core.settings.plugins import available
from replay.scenario.assembly import try_assemble
from replay.scenario.reading import parse_scenario
from replay.scenario.side_effects import SideEffects, side_effects
from tests.cli.command import replay_process
from tests.data_tables import from_table

PLUGINS = {
    "readers": "native",
    "adapters": "scripted",
    "policies": "pred",
    "scorers": "em",
    "judges": "correctness",
    "resolvers": "embedded",
}
SCENARIO = {
    "name": "try",
    "data": {"path": "talks.jsonl"},
    "systems": [{"name": "s", "adapter": "scripted"}],
    "policies": ["pred"],
    "scorers": ["em"],
    "drift": {"nlp_workers": 0},
}


def done_by(folder: Path, **sections: Any) -> SideEffects:
    (folder / "talks.jsonl").write_text(json.dumps({"id": "a", "turns": [{"question": "Who?"}]}) + "\n")
    text = yaml.safe_dump({**SCENARIO, **sections}, sort_keys=False)
    return side_effects(try_assemble(parse_scenario(text, source="s.yaml", folder=folder))[0])


def system(adapter: str, **settings: Any) -> dict[str, Any]:
    return {"name": "s", "adapter": adapter, "settings": settings}


def test_parts_of_ones_own_are_listed_with_what_they_are(tmp_path):
    homes = {kind: available(kind)[name].value for kind, name in PLUGINS.items()}
    own = {kind: f"mine.py:{home.partition(':')[2]}" for kind, home in homes.items()}
    judge = {"name": "j", "adapter": "scripted", "settings": {"answers": "gold"}}
    does = done_by(
        tmp_path,
        data={"path": "talks.jsonl", "format": own["readers"]},
        systems=[
            {"name": "function", "adapter": "python", "settings": {"target": "bot.py:answer"}},
            {"name": "program", "adapter": "command", "settings": {"command": ["python", "-c", "print()"]}},
            {"name": "own", "adapter": own["adapters"], "settings": {"answers": "gold"}},
        ],
        policies=[own["policies"], {"rewrite": {"rewriter": {"put.py:Rewriter": {"words": 3}}}}],
        scorers=[own["scorers"], {"length": "mine.py:Length"}],
        judges=[{own["judges"]: judge}],
        drift={"resolver": own["resolvers"], "nlp_workers": 0},
    )
    assert does.runs == {
        own["readers"]: ("reader",),
        "bot.py:answer": ("system function",),
        "python -c 'print()'": ("system program",),
        own["adapters"]: ("system own",),
        own["policies"]: (f"policy {own['policies']}",),
        "put.py:Rewriter": ("policy rewrite",),
        own["scorers"]: (f"scorer {own['scorers']}",),
        "mine.py:Length": ("scorer length",),
        own["judges"]: ("judge j",),
        own["resolvers"]: ("resolver",),
    }
    assert ("sends", "the whole environment to what it runs") in list(does.lines())


@from_table
def test_a_program_that_a_rewriter_resolver_or_judge_starts_is_listed(tmp_path, part):
    text = json.dumps(part).replace('"SETTINGS"', json.dumps({"command": ["python", "-c", "1"]}))
    assert "python -c 1" in done_by(tmp_path, **json.loads(text)).runs


@from_table
def test_what_only_has_a_colon_in_it_is_no_code(tmp_path, one):
    assert done_by(tmp_path, systems=[one]).runs == {}


ANTHROPIC = {"adapter": "anthropic", "settings": {"model": "m"}}


def test_hosts_are_listed_with_whoever_talks_to_them(tmp_path):
    does = done_by(
        tmp_path,
        systems=[
            {**system("openai", base_url="http://127.0.0.1:8000/v1", model="m"), "name": "vllm"},
            {**system("rasa"), "name": "rasa"},
            {
                **system("http", url="https://u.example/{{ question }}?see=http://no.example", answer="a"),
                "name": "http",
            },
            {**system("websocket", url="wss://[::1]:9/", send="{{question}}", answer="a"), "name": "ws"},
            {**system("scripted"), "name": "none"},
        ],
        judges=[{"tone": "correctness", "settings": ANTHROPIC}],
        policies=["pred", {"rewrite": {"rewriter": {"llm": ANTHROPIC}}}],
        drift={"resolver": "llm", "settings": {**ANTHROPIC, "parameters": {"note": "https://x.example"}}},
    )
    assert does.talks_to == {
        "127.0.0.1:8000": ("system vllm",),
        "localhost:5005": ("system rasa",),
        "u.example": ("system http",),
        "[::1]:9": ("system ws",),
        "x.example": ("resolver",),
        "api.anthropic.com": ("resolver", "policy rewrite", "judge tone"),
    }


def test_a_collector_is_talked_to_where_spans_are_sent(tmp_path, monkeypatch):
    one = system("scripted")
    assert done_by(tmp_path, systems=[one], telemetry={}).talks_to == {}
    telemetry = {"endpoint": "https://collector.example"}
    assert done_by(tmp_path, systems=[one], telemetry=telemetry).talks_to == {
        "collector.example": ("telemetry",)
    }
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://other.example:4318")
    assert list(done_by(tmp_path, systems=[one], telemetry={}).talks_to) == ["other.example:4318"]


def test_a_cluster_is_talked_to(tmp_path, monkeypatch):
    one = system("scripted")
    elsewhere = done_by(tmp_path, systems=[one], cluster={"address": "ray://head.example:10001"})
    assert elsewhere.talks_to == {"head.example:10001": ("cluster",)}
    assert list(done_by(tmp_path, systems=[one], cluster={}).talks_to) == ["localhost"]
    monkeypatch.setenv("RAY_ADDRESS", "ray://other.example:10001")
    assert list(done_by(tmp_path, systems=[one], cluster={}).talks_to) == ["other.example:10001"]


def test_an_adapter_says_itself_whom_it_talks_to_where_its_settings_dont(tmp_path, code_runs):
    (tmp_path / "own.py").write_text(
        "from replay_adapters.local.extractive import ExtractiveAdapter\n"
        "class Own(ExtractiveAdapter):\n    hosts = ('https://eu.example/v1', 'https://us.example')\n"
    )
    assert list(done_by(tmp_path, systems=[system("own.py:Own")]).talks_to) == ["eu.example", "us.example"]


def test_variables_are_listed_with_the_setting_and_the_host_that_gets_them(tmp_path):
    """Each where it goes: those of a token's own address not to the system, nor the system's to it."""
    does = done_by(
        tmp_path,
        systems=[
            system(
                "http",
                url="https://chat.example/ask",
                answer="a",
                headers_env={"X-Key": "CHAT_KEY", "X-More": "Bearer ${AWS_SECRET_ACCESS_KEY}/${SESSION}"},
                poll={"url": "https://jobs.example/{{submitted.id}}", "until": "done"},
                oauth2={
                    "token_url": "https://login.example/token",
                    "client_id_env": "CLIENT",
                    "client_secret_env": "CLIENT_SECRET_FILE",
                },
            )
        ],
        judges=[{"correctness": {"adapter": "anthropic", "settings": {"model": "m", "api_key_env": "KEY"}}}],
        scorers=["em", {"own.py:Scorer": {"token_env": "SCORER"}}],
    )
    assert [one.text for one in does.sends] == [
        "CHAT_KEY to chat.example, jobs.example (systems[0].settings.headers_env.X-Key)",
        "AWS_SECRET_ACCESS_KEY to chat.example, jobs.example (systems[0].settings.headers_env.X-More)",
        "SESSION to chat.example, jobs.example (systems[0].settings.headers_env.X-More)",
        "CLIENT to login.example (systems[0].settings.oauth2.client_id_env)",
        "the file that CLIENT_SECRET_FILE names to login.example "
        "(systems[0].settings.oauth2.client_secret_env)",
        "SCORER to scorer own.py:Scorer (scorers[1].own.py:Scorer.token_env)",
        "KEY to api.anthropic.com (judges[0].correctness.settings.api_key_env)",
    ]


def test_a_folder_with_a_model_counts_as_code(tmp_path):
    """What loads it may unpickle weights, and import what its configuration names."""
    (tmp_path / "bert").mkdir()
    scorers = ["em", {"bertscore": {"model": "bert", "num_layers": 3}}, {"similarity": {"model": "a/name"}}]
    does = done_by(tmp_path, scorers=scorers, drift={"semantic": {"model": "./bert"}})
    assert does.runs == {"model ./bert": ("semantic similarity",), "model bert": ("scorer bertscore",)}


def test_no_name_can_forge_a_line_or_take_one_away(tmp_path):
    name = "a)\n  talks to  nobody\x1b[2K\u202e"
    given = {**system("openai", base_url="http://127.0.0.1:9/v1", model="m"), "name": name}
    does = done_by(tmp_path, systems=[given])
    assert ("talks to", r"127.0.0.1:9 (system a)\n  talks to  nobody\x1b[2K\u202e)") in list(does.lines())


def test_each_line_says_so_where_there_is_nothing(tmp_path):
    assert list(done_by(tmp_path).lines()) == [
        ("runs", "no code but installed plug-ins"),
        ("talks to", "nobody"),
        ("sends", "nothing from the environment"),
        ("reads", "no file outside its folder"),
    ]


def test_files_elsewhere_are_listed_since_what_is_read_is_sent(tmp_path):
    """A prompt may be any text: somebody's private key as well."""
    folder = tmp_path / "scenario"
    (folder / "prompts").mkdir(parents=True)
    for path in (tmp_path / "id_rsa", tmp_path / "talk.jsonl", folder / "prompts" / "own.txt"):
        path.write_text("{}")
    (folder / "linked.txt").symlink_to(tmp_path / "id_rsa")
    prompts = [str(tmp_path / "id_rsa"), "prompts/own.txt", "linked.txt", "p" * 5000, "\0"]
    policies = [
        {f"put{n}": "rewrite", "settings": {"rewriter": {"llm": {"adapter": "scripted", "prompt": prompt}}}}
        for n, prompt in enumerate(prompts)
    ]
    does = done_by(
        folder,
        policies=policies,
        data={"path": ["*.jsonl", "../talk*.jsonl"]},
        systems=[{**system("scripted", answers="../talk.jsonl"), "name": "s"}],
    )
    assert does.reads == {
        "../talk.jsonl": ("system s",),
        str(tmp_path / "id_rsa"): ("policy put0",),
        "linked.txt": ("policy put2",),
        "../talk*.jsonl": ("data",),
    }


def test_validate_shows_it_all_whether_the_variables_are_set_or_not(tmp_path):
    """Whoever looks at a stranger's scenario wants to know before exporting a key for it."""
    done_by(tmp_path)
    given = system("openai", base_url="https://api.example/v1", model="m", api_key_env="NOT_SET_HERE")
    (tmp_path / "s.yaml").write_text(yaml.safe_dump({**SCENARIO, "systems": [given]}))
    block = (
        "  runs      no code but installed plug-ins\n"
        "  talks to  api.example (system s)\n"
        "  sends     NOT_SET_HERE to api.example (systems[0].settings.api_key_env)\n"
        "  reads     no file outside its folder\n"
    )
    done = replay_process("validate", "s.yaml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, f"{block}            (as far as faulty parts can be read)\n")
    assert "NOT_SET_HERE is not set" in done.stderr
