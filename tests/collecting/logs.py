"""Logs of a shop's chat for these tests: some alike, some that went wrong, one in German."""

from __future__ import annotations

import json
from pathlib import Path

GREETING = "Hello, how can I help you today? I am here to answer all questions on orders and on what we sell."


def log(id: str, *exchanges: tuple[str, str], **metadata: object) -> dict[str, object]:
    messages = []
    for question, answer in exchanges:
        messages += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    return {"id": id, "messages": messages, "metadata": metadata}


TWO = (
    (
        "Where is my order 48291?",
        "The order is on its way to 8 Castle Hill, Lancaster LA1 1YN, by parcel van.",
    ),
    (
        "When does it come?",
        "It comes on Tuesday between nine and eleven in the morning, at the address you gave.",
    ),
)
LOGS = [
    log("shop-1", *TWO),
    log("shop-2", (TWO[0][0].replace("48291", "77310"), TWO[0][1]), TWO[1]),
    log(
        "ann.lee@mail.example",
        ("I am Ann Lee, is the red lamp in stock?", "Yes, Ann, the red lamp is in stock in Leeds."),
    ),
    log(
        "shop-4",
        ("Which lamps do you have?", "We have the Fenton lamp and the Marlow lamp, both in brass or steel."),
        ("How much is the second one?", "The Marlow lamp costs 40 pounds, or 55 with a dimmer built in."),
        ("Does it come in green?", "No, it comes in brass and in steel only, I am afraid."),
        feedback="thumbs_down",
    ),
    log(
        "shop-5",
        (
            "Wo ist meine Bestellung?",
            "Ihre Bestellung ist auf dem Weg zu Ihnen, wir haben sie gestern verschickt.",
        ),
    ),
    log(
        "shop-6",
        ("Can I pay by card?", "Yes, you can pay by card, by transfer or on delivery, as you like it best."),
    ),
]


def write_logs(path: Path) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in LOGS), "utf-8")
    return path
