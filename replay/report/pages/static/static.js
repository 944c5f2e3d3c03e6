"use strict";
// One view of the file at a time, chosen by the address; conversations are unpacked when they are wanted.
(() => {
  const packed = JSON.parse(document.getElementById("conversations-packed").textContent);
  const scores = JSON.parse(document.getElementById("conversations-scores").textContent);
  const opened = new Map();
  const views = [...document.querySelectorAll("section.view")];
  const finder = document.getElementById("finder");

  function fragment(place) {
    if (!opened.has(place)) opened.set(place, charts.unpack(packed[place]));
    return opened.get(place);
  }

  async function show() {
    const name = decodeURIComponent(location.hash.slice(1)) || "overview";
    const place = /^conversation-(\d+)$/.exec(name)?.[1];
    const found = place in packed ? "conversation" : views.some((one) => one.id === name) ? name : "overview";
    if (found === "conversation") {
      // Our own page, made with every value escaped; the policy lets no script of it run in any case.
      document.getElementById("conversation").innerHTML = await fragment(place);
      document.dispatchEvent(new CustomEvent("content"));
    }
    for (const view of views) view.hidden = view.id !== found;
    for (const link of document.querySelectorAll("nav.views a")) {
      const here = link.hash === `#${found}` || (found === "conversation" && link.hash === "#conversations");
      if (here) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    }
    document.body.dataset.view = found;
    window.scrollTo(0, 0);
  }

  const rows = [...document.querySelectorAll("#list tbody tr")];
  const counts = { drift: 2, failures: 4, edits: 3 };

  function sort() {
    const by = finder.elements.sort.value;
    const { percent = "1", worse = "low" } = finder.elements.sort.selectedOptions[0].dataset;
    const low = (row) => {
      const score = scores[row.dataset.place][by];
      if (!(by in counts)) return score === undefined ? Infinity : worse === "high" ? -score : score;
      return -Number(row.cells[counts[by] + 1].textContent) / Math.max(1, Number(row.cells[2].textContent));
    };
    document.getElementById("sorted-by").textContent = by;
    for (const row of rows) {
      const value = by in counts ? -low(row) : scores[row.dataset.place][by];
      row.cells[1].textContent = value === undefined ? "–" : percent === "1" ? (100 * value).toFixed(1) : String(value);
    }
    rows.sort((a, b) => low(a) - low(b) || a.dataset.place - b.dataset.place);
    document.querySelector("#list tbody").append(...rows);
  }

  let search = 0;
  async function find() {
    const mine = ++search;
    const wanted = finder.elements.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const title = row.cells[0].textContent.toLowerCase();
      let fits = wanted.every((word) => title.includes(word));
      if (!fits) {
        const said = words(await fragment(row.dataset.place));
        fits = wanted.every((word) => title.includes(word) || said.includes(word));
      }
      if (mine !== search) return;
      row.hidden = !fits;
      count += fits;
    }
    document.getElementById("finder-said").textContent = `${count} of ${rows.length} conversations.`;
  }

  const texts = new Map();
  function words(html) {
    if (!texts.has(html)) {
      const found = new DOMParser().parseFromString(html, "text/html").body.textContent;
      texts.set(html, found.toLowerCase());
    }
    return texts.get(html);
  }

  finder.addEventListener("submit", (event) => event.preventDefault());
  finder.elements.sort.addEventListener("change", sort);
  finder.elements.q.addEventListener("input", find);
  addEventListener("hashchange", show);
  if (rows.length) sort();
  show();
})();
