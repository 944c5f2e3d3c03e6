"""
A chat of Gradio's, as its guide has it: ``gr.ChatInterface`` around a function that answers piece by piece.

    python benchmarks/gradio_chat.py PORT

Run by the interpreter of an environment with gradio; ``interop.py`` starts it. A question with the word
"fail" fails.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import gradio as gr


def answer(question: str, history: list[Any]) -> Iterator[str]:
    if "fail" in question:
        raise gr.Error("the archive is closed")
    said = f"After {len(history)} messages: the museum stands in Brackwater's harbour, naïvely said."
    for end in range(1, len(said) + 1, 8):
        yield said[:end]
    yield said


if __name__ == "__main__":
    chat = gr.ChatInterface(answer, api_name="chat")
    chat.launch(server_name="127.0.0.1", server_port=int(sys.argv[1]), show_error=True, quiet=True)
