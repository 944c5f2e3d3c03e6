"""Bad input: what people, programs and attackers write where a file or a reply is expected."""

from __future__ import annotations

import json
import re
from random import Random

BOM = b"\xef\xbb\xbf"
DEEP = 20_000
MEGABYTE = 2**20 + 1
"""Far more than the head of a file, by which its format is told."""
LONG_NUMBER = b"9" * 5_000

NASTY: tuple[bytes, ...] = (
    b"null", b"true", b"false", b"0", b"-1", b"-0.0", b"1e999", b"-1e999", b"NaN", b"Infinity", b"-Infinity",
    b"1.5", b"18446744073709551616", LONG_NUMBER, b'""', b'" "', b'"\\ud800"', b'"\\udc00\\ud800"',
    b'"\\u0000"', b'"\\u202e\\u05d0"', b'"\\u2028"', b'"\\x"', b"[]", b"{}", b"[[]]", b'{"":""}', b'{"id":1}',
    b"[null]", b"[" * DEEP, b"[" * DEEP + b"]" * DEEP, b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    b'"' + b"x" * 70_000 + b'"', b'"yes"', b"yes", b"2024-05-01", b"\xff", b"\xed\xa0\x80", b"\0", b"'", b'"',
    b'"\\', b",", b":", b"{", b"}", b"]", b"\n", b"\r\n", b"\r", b"#", b"&a", b"*a",
    b"!!python/object:os.system x",
)  # fmt: skip
"""What a token of a good input is replaced with."""

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|true|false|null|[{}\[\],:]|[\w-]+|\n')


def mutated(good: bytes, random: Random) -> bytes:
    """*good* with one to four things wrong with it."""
    bad = good
    for _ in range(random.randint(1, 4)):
        bad = random.choice(_MUTATIONS)(bad, random)
    return bad


def _token_replaced(text: bytes, random: Random) -> bytes:
    tokens = list(_TOKEN.finditer(text))
    if not tokens:
        return random.choice(NASTY)
    token = random.choice(tokens)
    return text[: token.start()] + random.choice(NASTY) + text[token.end() :]


def _token_moved(text: bytes, random: Random) -> bytes:
    tokens = list(_TOKEN.finditer(text))
    if not tokens:
        return text
    token, other = random.choice(tokens), random.choice(tokens)
    return text[: token.start()] + other[0] + text[token.end() :]


def _cut(text: bytes, random: Random) -> bytes:
    return text[: random.randint(0, len(text))]


def _part_dropped(text: bytes, random: Random) -> bytes:
    start = random.randint(0, len(text))
    return text[:start] + text[start + random.randint(1, 40) :]


def _part_doubled(text: bytes, random: Random) -> bytes:
    start = random.randint(0, len(text))
    end = start + random.randint(1, 200)
    return text[:end] + text[start:end] + text[end:]


def _byte_changed(text: bytes, random: Random) -> bytes:
    if not text:
        return b"\0"
    place = random.randrange(len(text))
    return text[:place] + bytes([random.randrange(256)]) + text[place + 1 :]


def _line_doubled(text: bytes, random: Random) -> bytes:
    lines = text.splitlines(keepends=True) or [b""]
    place = random.randrange(len(lines))
    return b"".join([*lines[: place + 1], lines[place], *lines[place + 1 :]])


def _in_another_encoding(text: bytes, random: Random) -> bytes:
    chosen = random.choice(("utf-16", "utf-16-le", "latin-1", "utf-8-sig", "utf-32"))
    return text.decode("utf-8", "replace").encode(chosen, "replace")


def _with_other_line_ends(text: bytes, random: Random) -> bytes:
    return text.replace(b"\n", random.choice((b"\r\n", b"\r", b"\n\n", b"\0\n", b" \n")))


_MUTATIONS = (
    _token_replaced, _token_replaced, _token_replaced, _token_moved, _cut, _part_dropped, _part_doubled,
    _byte_changed, _line_doubled, _in_another_encoding, _with_other_line_ends,
)  # fmt: skip

HAND_MADE: dict[str, bytes] = {
    "empty": b"",
    "blank": b" \n\t\r\n ",
    "byte order mark alone": BOM,
    "NUL bytes": b"\0" * 1000,
    "NUL line": b"\0\n",
    "UTF-16": '{"id": "a"}'.encode("utf-16"),
    "UTF-32": '{"id": "a"}'.encode("utf-32"),
    "Latin-1": '{"id": "caf\xe9"}'.encode("latin-1"),
    "encoded surrogate": b'{"id": "\xed\xa0\x80"}',
    "gzip": b"\x1f\x8b\x08\0" + bytes(100),
    "zip": b"PK\x03\x04" + bytes(100),
    "HTML": b"<!DOCTYPE html><html><body>404</body></html>",
    "deep list": b"[" * DEEP,
    "deep closed list": b"[" * DEEP + b"]" * DEEP,
    "deep object": b'{"a":' * DEEP,
    "deep closed object": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "deep YAML flow": b"a: " + b"[" * 2_000,
    "deep YAML blocks": b"".join(b" " * depth + b"a:\n" for depth in range(1_500)),
    "long number": LONG_NUMBER,
    "long number in an object": b'{"id": ' + LONG_NUMBER + b"}",
    "infinite number": b'{"id": 1e999}',
    "NaN": b'{"id": NaN}',
    "long line": b'{"id": "' + b"x" * MEGABYTE + b'"}',
    "line without end": b'{"id": "' + b"x" * MEGABYTE,
    "only quotes": b'"' * 10_001,
    "only commas": b"," * 10_000,
    "only line ends": b"\n" * 10_000,
    "carriage returns": b'{"id": 1}\r{"id": 2}\r',
    "null": b"null",
    "lone text": b'"text"',
    "right to left": '{"id": "\u202e\u05d0\u05d1"}'.encode(),
    "YAML bomb": b"a: &a [x,x,x,x,x,x,x,x,x,x]\n"
    + b"".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 10)}]\n".encode() for n in range(9)
    ),
    "YAML bomb in mappings": b"a: &a {x: 1}\n"
    + b"".join(
        f"{chr(98 + n)}: &{chr(98 + n)} {{{','.join(f'k{i}: *{chr(97 + n)}' for i in range(10))}}}\n".encode()
        for n in range(9)
    ),
    "YAML merge bomb": b"a: &a {x: 1}\n"
    + b"".join(
        f"{chr(98 + n)}: &{chr(98 + n)} {{<<: [{','.join(['*' + chr(97 + n)] * 10)}]}}\n".encode()
        for n in range(9)
    ),
    "YAML that holds itself": b"name: &a [*a]\n",
    "YAML mapping that holds itself": b"&a name: *a\n",
    "YAML tag": b'name: !!python/object/apply:os.system ["true"]\n',
    "YAML unknown tag": b"name: !secret x\n",
    "YAML documents": b"name: a\n---\nname: b\n",
    "YAML directive": b"%YAML 9.9\n---\nname: a\n",
    "YAML key twice": b"name: a\nname: b\n",
    "YAML keys of other kinds": b"1: a\ntrue: b\nnull: c\n2024-05-01: d\n[1, 2]: e\n{a: b}: f\n",
    "YAML date": b"name: 2024-05-01\n",
    "YAML impossible date": b"name: 2024-02-31\n",
    "YAML impossible time": b"name: 2024-01-01T99:99:99\n",
    "YAML yes": b"name: yes\ndata: no\nsystems: on\npolicies: off\n",
    "YAML sexagesimal": b"name: 190:20:30\nseed: 1_000\n",
    "YAML numbers": b"name: .inf\nseed: .nan\nrepeats: 1e999\nx: 0o17\n",
    "YAML long number": b"name: a\nseed: " + LONG_NUMBER + b"\n",
    "YAML long hexadecimal": b"name: a\nseed: 0x" + b"f" * 10_000 + b"\n",
    "YAML binary": b"name: !!binary aGVsbG8=\n",
    "YAML broken binary": b"name: !!binary '\xc3\xa9'\n",
    "YAML set": b"name: !!set {a, b}\n",
    "YAML omap": b"name: !!omap [a: 1, b: 2]\n",
    "YAML huge scalar": b"name: " + b"x" * 1_000_000 + b"\n",
    "YAML value key": b"name: {=: a}\n",
    "YAML merge of a text": b"name: {<<: a}\n",
    "YAML alias of nothing": b"name: *nothing\n",
}


def as_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
