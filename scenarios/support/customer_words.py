"""What a customer means: what is wished for, and which order it is about. Regular expressions, no more."""

import re

WISHES = {
    "discount": r"\bdiscount|\bvoucher|\bcheaper\b",
    "others": r"\bneighbou?r|someone else|other customer",
    "advice": r"\bsue\b|\blawyer|\bcourt\b",
    "human": r"\bhuman\b|\bcolleague|real person",
    "json": r"\bJSON\b",
    "refund": r"\brefund|money back|\breturn\b|send (it|that|them) back",
    "cancel": r"\bcancel",
    "address": r"\baddress\b|\b(deliver|send) (it|that|them) to\b",
    "warranty": r"\bwarranty|\bguarantee|\bbroke|stopped working",
    "status": r"\bwhere\b|\bwhen\b|\bstatus\b|\barrive|\bwhat about",
    "price": r"how much|\bcosts?\b|\bpa(y|id)\b|\bprice",
    "thanks": r"\bthanks?\b|\bbye\b",
}
ANGRY = re.compile(r"ridiculous|unacceptable|fed up|worst", re.I)
EMAIL = re.compile(r"[\w.]+@[\w.]+\w")
NUMBER = re.compile(r"\b\d{5}\b")
NAMED = re.compile(r"\b(\d{5}) \(([^)]+)\)")
"""An order as the bot names it first: its number and the item."""
ADDRESS = re.compile(r"(?:\bto |^)((?:[A-Z]\w* )+\d+, \w+)")


def wishes(question, earlier):
    """
    Each wish in *question*, with the number of the order that it is about or None.

    *earlier* are the messages before it, each a role and a text.
    """
    before, found = list(earlier), []
    for clause in re.split(r"(?<=[.!?;]) |, and |, but ", question):
        order = meant_order(clause, before) or meant_order(question, before)
        found += [(wish, order) for wish in _named(clause)[:1]]
        before.append(("user", clause))
    if found:
        return list(dict.fromkeys(found))
    order = meant_order(question, earlier)
    if earlier and "?" in earlier[-1][1]:
        # An answer to what the bot asked: the wish is the one that it asked about.
        asked = [_named(text) for role, text in earlier if role == "user"]
        return [(wish, order) for wish in next(filter(None, reversed(asked)), ["unclear"])[:1]]
    return [("status" if NUMBER.search(question) or EMAIL.search(question) else "unclear", order)]


def _named(text):
    return [wish for wish, pattern in WISHES.items() if re.search(pattern, text, re.I)]


def meant_order(clause, before):
    """The number of the order that *clause* means; None where it could be any."""
    if number := NUMBER.search(clause):
        return number[0]
    texts = [text for _, text in before]
    items = {item.split()[-1]: number for text in texts for number, item in NAMED.findall(text)}
    for item, number in items.items():
        if re.search(rf"\b{item}", clause, re.I):
            return number
    listed = [number for text in texts for number, _ in NAMED.findall(text)]
    if len(items) > 1 and re.search(r"\bfirst\b", clause):
        return listed[0]
    if len(items) > 1 and re.search(r"\b(second|last)\b", clause):
        return listed[1]
    mentioned = [_mentioned(text, items) for text in texts]
    in_order = [number for numbers in mentioned for number in numbers]
    others = [number for number in in_order if number != in_order[-1]]
    if others and re.search(r"\bother\b", clause):
        return others[-1]
    last = next(filter(None, reversed(mentioned)), [])
    return last[-1] if len(set(last)) == 1 else None


def _mentioned(text, items):
    """Numbers of the orders that *text* speaks of, in order."""
    words = re.findall(rf"\b(?:\d{{5}}{''.join(f'|{item}' for item in items)})", text, re.I)
    return [items.get(word.lower(), word) for word in words]
