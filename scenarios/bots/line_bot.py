"""
A bot in one small file, for `command.yaml`: reads a JSON line with a question, prints one with an answer.

It answers with the sentence that shares most words with the question, and a few with the one before.
"""

import json
import re
import sys


def words(text):
    return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 3}


def answer(question, history, passages):
    """A sentence of *passages*, each with a text; *history* is what was asked and answered before."""
    asked = words(question)
    before = words(history[-1]["question"]) if history else set()
    sentences = [s for passage in passages for s in re.split(r"(?<=[.!?])\s+", passage["text"]) if s]
    scores = {s: len(asked & words(s)) + 0.3 * len(before & words(s)) for s in sentences}
    best = max(scores, key=scores.get, default="")
    return best if scores.get(best) else "CANNOTANSWER"


def main():
    for line in sys.stdin:
        body = json.loads(line)
        said = answer(body["question"], body["history"], body["passages"])
        # One line for each line, flushed; logs would go to stderr.
        print(json.dumps({"answer": said, "conversation": body["conversation"]}), flush=True)


if __name__ == "__main__":
    main()
