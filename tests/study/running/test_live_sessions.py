"""Sessions that a server had, once another one has taken its place."""

from __future__ import annotations

import pytest

from tests.study.serving import begun, served
from tests.study.talks import study_file
from tests.waiting import until_async


@pytest.mark.usefixtures("chat")
async def test_talks_that_only_a_lost_session_could_go_on_with_are_set_aside_as_the_server_starts(tmp_path):
    """Whoever looks at the study's state sees it, whether or not the person comes back."""
    system = {"adapter": "scripted", "settings": {"answers": ["One.", "Two."], "history": "server"}}
    database = begun(study_file(system), tmp_path)
    async with served(database) as study, study.at_work(1) as browser:
        await browser.send("/rate/talk/ask", {"question": "one?"})
        await until_async(lambda: study.store.talks(1)[1][0].outcome)
        assert study.store.assignment(1).state == "open"
    async with served(database) as study:
        await until_async(lambda: study.store.assignment(1).state == "set-aside")
