"use strict";
// One view of the file at a time, chosen by the address; conversations are unpacked when they are wanted.
(() => {
  const packed = JSON.parse(document.getElementById("conversations-packed").textContent);
  const breaking = JSON.parse(document.getElementById("conversations-breaking").textContent);
  const scores = JSON.parse(document.getElementById("conversations-scores").textContent);
  const opened = new Map();
  const views = [...document.querySelectorAll("section.view")];
  const finder = document.getElementById("finder");

  function fragment(place) {
    if (!opened.has(place)) opened.set(place, charts.unpack(packed[place]));
    return opened.get(place);
  }

  async function show() {
    // #conversations?only=RULE, #conversation-7-turn-3, or a part of the overview
    const [path, query = ""] = location.hash.slice(1).split("?");
    const name = path || "overview";
    const [, place, turn] = /^conversation-(\d+)(?:-turn-(\d+))?$/.exec(name) ?? [];
    const found = place in packed ? "conversation" : views.some((one) => one.id === name) ? name : "overview";
    if (found === "conversation") {
      // Our own page, made with every value escaped; the policy lets no script of it run in any case.
      document.getElementById("conversation").innerHTML = await fragment(place);
    }
    for (const view of views) view.hidden = view.id !== found;
    for (const link of document.querySelectorAll("nav.views a")) {
      const here = link.hash === `#${found}` || (found === "conversation" && link.hash === "#conversations");
      if (here) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    }
    document.body.dataset.view = found;
    const target = found === "overview" && name !== found && document.getElementById(name);
    if (target) target.scrollIntoView(); else window.scrollTo(0, 0);
    if (found === "conversation") document.dispatchEvent(new CustomEvent("content", { detail: turn && `turn-${turn}` }));
    const only = new URLSearchParams(query).get("only");
    if (found === "conversations" && only !== null) {
      finder.elements.only.value = only;
      find();
    }
  }

  const rows = [...document.querySelectorAll("#list tbody tr")];
  const counts = { drift: "invalid", failures: "failed", edits: "edited" };
  let shown = finder.elements.sort.querySelector("option[data-percent]");

  function sort() {
    const option = finder.elements.sort.selectedOptions[0];
    const by = option.value;
    if (!(by in counts)) shown = option;
    const high = option.dataset.worse === "high";
    const low = (row) => {
      if (by in counts) return -row.dataset[counts[by]] / Math.max(1, row.dataset.asks);
      const score = scores[row.dataset.place][by];
      return score === undefined ? Infinity : high ? -score : score;
    };
    document.getElementById("shown-score").textContent = shown?.value ?? "";
    for (const row of rows) {
      const value = shown && scores[row.dataset.place][shown.value];
      row.querySelector(".score").textContent = value === undefined || value === null ? "–" : shown.dataset.percent === "1" ? (100 * value).toFixed(1) : String(value);
    }
    rows.sort((a, b) => low(a) - low(b) || a.dataset.place - b.dataset.place);
    document.querySelector("#list tbody").append(...rows);
  }

  // Which turns of a row the chosen filter is about; null where it isn't about turns of their own.
  function turns(row, only) {
    return breaking[only]?.[row.dataset.place] ?? null;
  }

  function fits(row, only) {
    return only in breaking ? turns(row, only) !== null : !(only in row.dataset) || row.dataset[only] > 0;
  }

  function link(row, only) {
    const depths = turns(row, only);
    const at = `#conversation-${row.dataset.place}`;
    row.querySelector("th a").hash = depths ? `${at}-turn-${depths[0]}` : at;
    const links = (depths ?? []).flatMap((depth, place) => {
      const one = document.createElement("a");
      one.href = `${at}-turn-${depth}`;
      one.textContent = depth;
      return place ? [", ", one] : [one];
    });
    row.querySelector(".breaking").replaceChildren(...links);
  }

  let search = 0;
  async function find() {
    const mine = ++search;
    const wanted = finder.elements.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    const only = finder.elements.only.value;
    for (const cell of document.querySelectorAll("#list .breaking")) cell.hidden = !(only in breaking);
    let count = 0;
    for (const row of rows) {
      link(row, only);
      const title = row.cells[0].textContent.toLowerCase();
      let found = wanted.every((word) => title.includes(word));
      if (!found) {
        const said = words(await fragment(row.dataset.place));
        found = wanted.every((word) => title.includes(word) || said.includes(word));
      }
      if (mine !== search) return;
      found &&= fits(row, only);
      row.hidden = !found;
      count += found;
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
  finder.elements.only.addEventListener("change", find);
  addEventListener("hashchange", show);
  if (rows.length) sort();
  show();
})();
