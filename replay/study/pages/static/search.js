"use strict";
// Searches as one types, in the screen itself, and takes over which passage is right.
(() => {
  const form = document.querySelector("form.answer-form"), search = document.querySelector("form.search");
  if (!form || !search) return;
  const taken = form.querySelector("input[data-passage-id]");
  let found = document.createElement("div"), asked, wait;
  search.after(found);

  async function show(address) {
    asked?.abort();
    asked = new AbortController();
    try {
      const reply = await fetch(address, { signal: asked.signal });
      const page = new DOMParser().parseFromString(await reply.text(), "text/html");
      const next = page.querySelector(".found") ?? page.querySelector("main");
      if (taken) for (const button of next.querySelectorAll(".take-passage")) button.hidden = false;
      found.replaceWith(next);
      found = next;
      // Where the passages scroll on their own, what was found would be below them.
      const pane = search.closest(".sources");
      if (pane) pane.scrollTop += search.getBoundingClientRect().top - pane.getBoundingClientRect().top - 40;
    } catch (error) {
      if (error.name !== "AbortError") found.textContent = "The search did not get through; try again.";
    }
  }

  function look() {
    clearTimeout(wait);
    show(`${search.getAttribute("action")}?${new URLSearchParams(new FormData(search))}`);
  }

  search.addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(look, 150); });
  search.addEventListener("submit", (event) => { event.preventDefault(); look(); });
  search.parentElement.addEventListener("click", (event) => {
    const link = event.target.closest(".found .pages a"), button = event.target.closest(".take-passage");
    if (link) {
      event.preventDefault();
      show(link.href);
    } else if (button && taken) {
      taken.value = button.dataset.passage;
      taken.focus();
    }
  });
})();
