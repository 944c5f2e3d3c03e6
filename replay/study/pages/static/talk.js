"use strict";
// A talk: Enter sends, and an answer is put below its question when it has come, without a new page.
(() => {
  const talk = document.getElementById("talk");
  const SOONEST_MS = 400, LATEST_MS = 8000;
  let wait = SOONEST_MS;

  talk.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.target.id !== "question") return;
    if (matchMedia("(pointer: coarse)").matches) return;  // on a phone the key is needed for new lines
    event.preventDefault();
    event.target.form.requestSubmit();
  });

  async function show() {
    const answer = await fetch(talk.dataset.page, { cache: "no-store" });
    if (!answer.ok) throw new Error(`${answer.status}`);
    const next = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("talk");
    const last = talk.querySelector(".transcript > li:last-child");
    const same = next?.querySelectorAll(".transcript > li");
    if (same?.length !== talk.querySelectorAll(".transcript > li").length) return location.replace(talk.dataset.page);
    // Only what is new, so that screen readers read that and nothing twice.
    last.append(...[...same[same.length - 1].children].slice(last.children.length));
    document.getElementById("next").replaceChildren(...next.querySelector("#next").childNodes);
    talk.querySelector("[autofocus]")?.focus({ preventScroll: true });
    last.scrollIntoView({ block: "nearest" });
  }

  function say(line, text) {
    if (text && line.textContent !== text) line.textContent = text;
  }

  async function look() {
    const line = talk.querySelector("[data-state]");
    if (!line) return;
    try {
      const answer = await fetch(line.dataset.state, { cache: "no-store" });
      if (!answer.ok) throw new Error(`${answer.status}`);
      const news = await answer.json();
      if (!news.waiting) return await show();
      say(line, news.slow ? line.dataset.slow : line.dataset.waiting);
      wait = Math.min(wait * 1.25, LATEST_MS / 4);
    } catch {
      say(line, line.dataset.lost);
      wait = Math.min(wait * 2, LATEST_MS);
    }
    setTimeout(look, wait);
  }

  const line = talk.querySelector("[data-state]");
  if (line) line.dataset.waiting = line.textContent;
  look();
})();
