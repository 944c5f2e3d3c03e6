"""
What ``replay collect`` leaves of customers who are known: tau-bench's retail shop.

    git clone https://github.com/sierra-research/tau-bench
    python benchmarks/leaks.py tau-bench [--show]

Each of 200 tasks tells a customer what to say; here they say it, in two turns, and a shop answers from the
customer's record in one of four wordings. Counted is what of that record was said and is there afterwards:
names, ids, e-mail, street, post code, orders, ways to pay. Towns are kept on purpose. ``--show`` prints each
one that is left, and each name that is nobody's and was replaced.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from replay import Conversation, Turn
from replay.collecting.deidentify import deidentify
from replay.datasets.native import native_line

_TASK = re.compile(r'user_id="([^"]+)",\s*instruction="((?:[^"\\]|\\.)*)"')
_WORDINGS = (
    "Thank you, {first}! I found your account under {email}. It ships to {street}, {suite}, {city}, {state} "
    "{zip}. Is that right?",
    "Hi {first} {last}, your user id is {id} and {payment} will be charged. Shall I go on?",
    "Your profile:\n- Name: {first} {last}\n- Email: {email}\n- Address: {street}, {suite}, {city} {zip}, "
    "{country}\nWhat would you like to do?",
    "Done. A confirmation was sent to {email}; the refund goes to {payment}, Mr. {last}.",
)


def told(folder: Path, count: int = 200) -> Iterator[tuple[Conversation, Mapping[str, str]]]:
    """Yield *count* conversations, drawn with a fixed seed, and what is on the customer's record."""
    retail = folder / "tau_bench" / "envs" / "retail"
    users = json.loads((retail / "data" / "users.json").read_text("utf-8"))
    tasks = [
        (user, instruction)
        for name in ("tasks_train.py", "tasks_test.py")
        for user, instruction in _TASK.findall((retail / name).read_text("utf-8"))
        if user in users
    ]
    rng = random.Random(3)
    rng.shuffle(tasks)
    for number, (id, instruction) in enumerate(tasks[:count]):
        record = _record(id, users[id])
        said = re.sub(r"\bYou are\b", "I am", instruction)
        for word, first_person in (("Your", "My"), ("your", "my"), ("[Yy]ou", "I")):
            said = re.sub(rf"\b{word}\b", first_person, said)
        sentences = re.split(r"(?<=[.])\s+", said)
        middle = max(1, len(sentences) // 2)
        answer = rng.choice(_WORDINGS).format_map(record)
        turns = (
            Turn(id=f"t{number}#1", question=" ".join(sentences[:middle]), gold_answers=(answer,)),
            Turn(
                id=f"t{number}#2", question=" ".join(sentences[middle:]) or "Thanks.", gold_answers=("Done.",)
            ),
        )
        yield Conversation(id=f"t{number}", turns=turns), record


def _record(id: str, user: Mapping[str, Any]) -> dict[str, str]:
    address = user["address"]
    return {
        "id": id,
        "first": user["name"]["first_name"],
        "last": user["name"]["last_name"],
        "email": user["email"],
        "street": address["address1"],
        "suite": address["address2"],
        "city": address["city"],
        "state": address["state"],
        "zip": address["zip"],
        "country": address["country"],
        "payment": next(iter(user["payment_methods"])),
        **{f"order {number}": order for number, order in enumerate(user["orders"])},
    }


def main() -> None:
    """Print what was said of each kind, and what is left of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, help="a checkout of tau-bench")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    said, left, others = Counter[str](), Counter[str](), Counter[str]()
    for number, (conversation, record) in enumerate(told(options.folder)):
        made, replaced = deidentify(conversation, id=f"c{number}", rng=random.Random(number))
        before, after = native_line(conversation).decode(), native_line(made).decode()
        for kind, value in record.items():
            if kind in ("city", "state", "country"):
                continue
            word = re.compile(rf"(?<!\w){re.escape(value)}(?!\w)")
            kind = kind.partition(" ")[0]
            if word.search(before):
                said[kind] += 1
                if found := word.search(after):
                    left[kind] += 1
                    if options.show:
                        print(kind, repr(after[max(0, found.start() - 60) : found.end() + 30]))
        own = {record["first"].lower(), record["last"].lower()}
        others.update(
            one.original for one in replaced if one.kind == "name" and set(one.original.lower().split()) - own
        )
    print(f"{'kind':<8}  said  left")
    for kind in said:
        print(f"{kind:<8}  {said[kind]:>4}  {left[kind]:>4}")
    print(f"{'all':<8}  {said.total():>4}  {left.total():>4}")
    print(f"words replaced that are none of the customer's names: {others.total()}")
    if options.show:
        print(dict(others))


if __name__ == "__main__":
    main()
