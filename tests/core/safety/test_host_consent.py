"""Whose permission load needs: in doubt it is asked for."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given, strategies as st
from yarl import URL

from replay.core.errors import InputError
from replay.core.safety.consent import addresses_of, canonical, check_confirmed, hosts_to_confirm
from tests.data_tables import from_table

NAMES = {
    "chat.intranet": ["10.0.0.7", "fd00::7"],
    "example.com": ["93.184.215.14"],
    "half.example.com": ["10.0.0.7", "93.184.215.14"],
    "odd.example.com": ["not an address"],
}


def resolve(name):
    return NAMES.get(name, [])


def asked(url, key="base_url"):
    return hosts_to_confirm([{key: url}], resolve=resolve)


@from_table
def test_this_machine_and_private_networks_need_no_confirmation(url):
    assert asked(url) == []


@from_table
def test_any_other_host_and_any_doubt_has_to_be_confirmed(url, host):
    assert asked(url) == [host]


@pytest.mark.parametrize("key", ["url", "poll_url", "host", "Endpoint", "server"])
def test_what_is_called_an_address_is_one_without_a_scheme_too(key):
    assert asked("example.com", key) == ["example.com"]
    assert asked("localhost:80", key) == []


def test_other_texts_are_hosts_only_where_they_hold_a_url():
    assert asked("example.com", "model") == []
    assert asked("Say hello to https://example.com, please.", "system_prompt") == ["example.com"]
    assert asked('{"callback": "http://127.0.0.1:80/x", "to": ["ws://example.com"]}', "body") == [
        "example.com"
    ]


def test_urls_are_found_however_deep_they_are():
    settings = [
        {"model": "m", "headers": {"Referer": "https://a.example/"}},
        {"steps": [{"send": ("https://b.example", 5)}, {"https://c.example": None}], "limit": None},
        {"url": "https://a.example/again?then=http://d.example/"},
    ]
    assert hosts_to_confirm(settings, resolve=resolve) == ["a.example", "b.example", "c.example", "d.example"]


def test_nothing_that_the_http_client_would_send_elsewhere_passes():
    """Whatever yarl, aiohttp's URL parser, takes for the host is what has to be judged."""

    @given(st.text(alphabet="127.0localhost@:[]\\/?#% \t\nA{}x", max_size=24))
    def holds(rest):
        text = f"http://{rest}"
        try:
            host = (URL(text).host or "").strip()
        except (ValueError, IndexError):  # yarl 1.25 stumbles over "http://["
            return
        if host and asked(text) == []:
            judged = hosts_to_confirm(
                [{"url": f"http://[{host}]/" if ":" in host else f"http://{host}/"}], resolve=resolve
            )
            assert judged == []

    holds()


def test_names_are_looked_up_in_the_system():
    assert set(addresses_of("localhost")) <= {"127.0.0.1", "::1"}
    assert addresses_of("localhost")
    assert addresses_of("a" * 64 + ".invalid") == []


def test_a_name_that_can_not_be_looked_up_has_to_be_confirmed(monkeypatch):
    def fails(*_, **__):
        raise socket.gaierror(-3, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", fails)
    assert hosts_to_confirm([{"url": "http://example.com"}]) == ["example.com"]


def test_a_refusal_names_the_hosts_and_both_ways_to_confirm():
    with pytest.raises(InputError) as caught:
        check_confirmed(["example.com", "{{ host }}"], [])
    assert str(caught.value) == (
        'this run would put load on example.com and "{{ host }}", and these are neither this machine nor '
        "surely in a private network; if you may do that, say `replay stress SCENARIO --allow-host "
        'example.com --allow-host "{{ host }}"`, or in a program '
        'replay.run(..., may_load=["example.com", "{{ host }}"])'
    )


def test_only_the_unconfirmed_hosts_are_named():
    with pytest.raises(InputError, match=r"load on b\.example, and that is") as caught:
        check_confirmed(["a.example", "b.example"], ["A.example."])
    assert "a.example" not in str(caught.value)


@pytest.mark.parametrize("written", ["Bücher.example", "xn--bcher-kva.example", "bücher.example."])
def test_a_host_is_confirmed_however_it_is_written(written):
    check_confirmed(asked("http://bücher.example/"), [written])


def test_brackets_make_no_difference():
    check_confirmed(asked("http://[2606:2800::1]/"), ["[2606:2800::1]"])
    assert canonical("[::1]") == "::1"


def test_confirming_one_host_confirms_no_other():
    with pytest.raises(InputError):
        check_confirmed(["api.example.com"], ["example.com"])
