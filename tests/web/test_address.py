"""By which address people reach a study, and what is said of it."""

from __future__ import annotations

import socket

import pytest

from replay.core.errors import InputError
from replay.study.pages.access import WHO_REACHES
from replay.web.access import Address, address_of, explain_bind_address, shown_origin


def test_an_address_says_path_origin_and_name():
    found = address_of("https://Lab.example.org:8443/studies/a/", "127.0.0.1", ["other"])
    assert (found.root, found.origin) == ("/studies/a", "https://lab.example.org:8443")
    assert {"127.0.0.1", "other", "lab.example.org"} <= set(found.names)
    assert address_of("https://lab.example.org/", "127.0.0.1").root == ""


@pytest.mark.parametrize(
    "url", ["lab.example.org", "/study", "ftp://a", "https://", "https://a:x", "https://u@a/", "https://a/?b",
            "https://a/#b", "https://a/../b", "https://a/b//c", "https://a/%2e", "https://a/{b}"],
)  # fmt: skip
def test_what_is_no_address_is_refused(url):
    with pytest.raises(InputError, match="--url"):
        address_of(url, "127.0.0.1")


def test_a_server_on_all_addresses_is_shown_by_the_machine_s_name():
    assert shown_origin("http://0.0.0.0:8770") == f"http://{socket.gethostname()}:8770"
    assert shown_origin("http://[::]:8770") == f"http://{socket.gethostname()}:8770"
    assert shown_origin("http://127.0.0.1:8770") == "http://127.0.0.1:8770"


def test_a_host_that_others_reach_is_told_in_words():
    assert explain_bind_address("127.0.0.1", WHO_REACHES, Address()) is None
    said = explain_bind_address("0.0.0.0", WHO_REACHES, Address())
    for word in ("everyone who reaches this machine", "A link is a key", "TLS", "--url https://"):
        assert word in said
    assert "TLS" not in explain_bind_address(
        "10.0.0.1", WHO_REACHES, Address(origin="https://lab.example.org")
    )
