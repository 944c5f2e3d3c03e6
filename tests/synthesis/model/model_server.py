"""A model played by a local server: a student, a teacher and a reader by their prompts, with failures."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from replay.core.asking.cached import Model, build_model
from replay.core.asking.costs import Prices

_ANIMALS = ("heron", "otter", "badger", "falcon", "beaver", "marten", "stoat", "lizard", "salmon", "plover")
SENTENCES = [
    f"The {animal} house opened in {1900 + 7 * n} and holds {n + 3} rooms for visitors of the northern park."
    for n, animal in enumerate(_ANIMALS)
]


def write_documents(folder: Path, count: int = 2) -> None:
    """Write *count* documents of ten sentences in two sections each; all sentences differ."""
    for number in range(count):
        lines = [sentence.replace("northern", f"northern{number}") for sentence in SENTENCES]
        parts = [" ".join(lines[:5]), " ".join(lines[5:])]
        text = f"# Park {number}\n\n## Water\n\n{parts[0]}\n\n## Land\n\n{parts[1]}\n"
        (folder / f"park{number}.md").write_text(text)


def reply_to(prompt: str) -> str:
    """Return what a good model writes."""
    if prompt.startswith("You answer questions"):
        animal = re.findall(r"In full: .*?the (\w+) house", prompt)[-1]
        quote = re.search(rf"The {animal} house opened.*?park\.", prompt.replace("\n", " "))
        assert quote, prompt
        return json.dumps({"passage": 1, "quote": quote[0]})
    park = re.findall(r"Park (\d+)", prompt)[-1]
    if "is lost" in prompt or "are lost" in prompt:
        animal = re.findall(r"Author: The (\w+) house", prompt)[-1]
    else:
        asked = len(re.findall(r"^You: ", prompt, re.MULTILINE)) + 1
        animal = _ANIMALS[(asked + 5 * prompt.count("- Not this")) % len(_ANIMALS)]
    question = f"When did the {animal} house of park {park} open its doors?"
    return "Here it is:\n```json\n" + json.dumps({"question": question, "standalone": question}) + "\n```"


Fault = Callable[[int, str], str | int | None]


class ModelServer:
    """Serves chat completions; *fault* may give another reply, or a status, for the n-th ask."""

    def __init__(self, fault: Fault) -> None:
        self.prompts: list[str] = []
        self._fault = fault
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                prompt = body["messages"][-1]["content"]
                with server._lock:
                    server.prompts.append(prompt)
                    found = server._fault(len(server.prompts), prompt)
                status, text = (found, "") if isinstance(found, int) else (200, found)
                said = reply_to(prompt) if text is None else text
                reply = {
                    "choices": [{"message": {"content": said}}],
                    "usage": {"prompt_tokens": 100, "completion_tokens": 10},
                }
                data = json.dumps(reply if status == 200 else {"error": {"message": "no"}}).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    @property
    def model(self) -> Model:
        """Return the model that asks it."""
        return build_model(
            "openai",
            {"base_url": self.url, "model": "m"},
            folder=Path(),
            limit=None,
            prices=Prices(prompt_usd=1.0, completion_usd=2.0),
        )


@contextmanager
def model_server(fault: Fault = lambda n, prompt: None) -> Iterator[ModelServer]:
    server = ModelServer(fault)
    server._thread.start()
    try:
        yield server
    finally:
        server._http.shutdown()
        server._http.server_close()
        server._thread.join()
