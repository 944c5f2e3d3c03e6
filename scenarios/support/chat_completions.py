"""Chat Completions over HTTP for a bot in Python: whole replies and streamed ones, with tool calls."""

import argparse
import contextlib
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def server(bot, port):
    """
    A server on this machine for *bot*, not yet serving; port 0 is any that is free.

    ``bot(messages).next_message()`` is called for each request.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            message = bot(body["messages"]).next_message()
            reason = "tool_calls" if message.get("tool_calls") else "stop"
            reply = {"id": "reply", "model": body["model"], "created": 0}
            if not body.get("stream"):
                choice = {"index": 0, "message": message, "finish_reason": reason}
                self.send(
                    json.dumps({**reply, "object": "chat.completion", "choices": [choice]}),
                    "application/json",
                )
                return
            choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas(message)]
            choices.append({"index": 0, "delta": {}, "finish_reason": reason})
            reply["object"] = "chat.completion.chunk"
            events = [*(json.dumps({**reply, "choices": [choice]}) for choice in choices), "[DONE]"]
            self.send("".join(f"data: {event}\n\n" for event in events), "text/event-stream")

        def send(self, text, content_type):
            content = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def deltas(message):
    """*message* in pieces, as they come from a model: text by words, arguments in two halves."""
    yield {"role": "assistant"}
    for number, word in enumerate((message["content"] or "").split(" ")):
        yield {"content": f" {word}" if number else word}
    for index, call in enumerate(message.get("tool_calls", ())):
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        half = len(arguments) // 2
        function = {"name": name, "arguments": arguments[:half]}
        yield {"tool_calls": [{"index": index, "id": call["id"], "type": "function", "function": function}]}
        yield {"tool_calls": [{"index": index, "function": {"arguments": arguments[half:]}}]}


def main(bot):
    parser = argparse.ArgumentParser(description="A shop's support bot.")
    parser.add_argument("--port", type=int, default=8011)
    with server(bot, parser.parse_args().port) as listening, contextlib.suppress(KeyboardInterrupt):
        print(f"listening on http://127.0.0.1:{listening.server_port}", flush=True)
        listening.serve_forever()
