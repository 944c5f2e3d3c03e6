"""The search of a study's passages: a page of its own, for whoever may search now."""

from __future__ import annotations

from replay.study.schema import PAGE
from tests.study.pages.pets import pets_study
from tests.study.presets.evaluation import at_work
from tests.study.serving import served


async def test_what_is_found_is_shown_and_neither_it_nor_the_words_searched_are_markup(tmp_path):
    async with served(pets_study(tmp_path)) as pets, at_work(pets, 1) as person:
        await person.talk("Who barks?")
        browser = person.browser
        await browser.open("/rate/search?words=meows")
        assert "1 passage has these words" in browser.html
        assert "&lt;script&gt;window.harmed" in browser.html
        assert "<script>window" not in browser.html
        assert "<img" not in browser.html
        assert "&lt;b&gt;Tom&lt;/b&gt;" in browser.html
        assert 'data-passage="a/b c&amp;d"' in browser.html

        await browser.open("/rate/search?words=fish%20%26%20%22says%22")
        assert f"{2 * PAGE} passages have these words, page 1 of 2" in browser.html
        assert 'value="fish &amp; &#34;says&#34;"' in browser.html
        (link,) = [one for one in browser.html.split('"') if "page=2" in one]
        await browser.open(link.replace("&amp;", "&"))
        assert "page 2 of 2" in browser.html
        for odd in ("page=0", "page=-1", "page=x", "page=9999999999", "words=%00%ff", "words="):
            await browser.open(f"/rate/search?{odd}")
            assert browser.status == 200, odd


async def test_nobody_searches_without_a_link_or_without_a_task(tmp_path):
    async with served(pets_study(tmp_path)) as pets:
        async with pets.browser("/rate/search?words=rex") as nobody:
            assert nobody.status == 401
        async with at_work(pets, 1) as person:
            await person.talk("Who barks?")
            await person.browser.open("/rate/search?words=rex")
            assert person.browser.status == 200
            await person.browser.open("/rate")
            said = {"intent": "extractive", "correct": "1", "rank": "1"}
            await person.browser.send("/rate/answer", said)
            await person.browser.open("/rate/search?words=rex")
            assert person.browser.status == 404


async def test_the_screen_that_is_shown_is_marked_among_those_of_its_task(tmp_path):
    async with served(pets_study(tmp_path, fewest_turns=2, most_turns=2)) as pets, at_work(pets, 1) as person:
        await person.talk("Who barks?", "Who meows?")
        (current,) = [one for one in person.browser.html.split("<a ") if "aria-current" in one]
        assert ' aria-current="step"><span class="vh">Screen </span>1</a>' in current
