"use strict";
// Keeps a served page up to date: asks how far the run is, and fetches the page again when it has news.
(() => {
  const EVERY_MS = 1000;
  const at = document.body.dataset.stateAt;

  async function replaceContent() {
    const answer = await fetch(location.href, { cache: "no-store" });
    if (!answer.ok) return false;
    const next = new DOMParser().parseFromString(await answer.text(), "text/html");
    const main = document.getElementById("main");
    const kept = switches(main);
    const open = new Set([...main.querySelectorAll("figure.chart details.data[open]")].map((one) => one.closest("figure").id));
    main.replaceChildren(...next.getElementById("main").childNodes);
    document.body.dataset.numbers = next.body.dataset.numbers ?? "";
    if (!next.body.hasAttribute("data-waiting")) document.body.removeAttribute("data-waiting");
    for (const box of main.querySelectorAll("form.switches input, form.switches select")) {
      const key = `${box.name}/${box.type === "checkbox" ? box.value : ""}`;
      if (!kept.has(key)) continue;
      if (box.type === "checkbox") box.checked = kept.get(key);
      else if ([...box.options].some((option) => option.value === kept.get(key))) box.value = kept.get(key);
    }
    for (const id of open) main.querySelector(`#${CSS.escape(id)} details.data`)?.setAttribute("open", "");
    charts.start(document);
    document.dispatchEvent(new CustomEvent("content"));
    return true;
  }

  function switches(main) {
    const boxes = [...main.querySelectorAll("form.switches input, form.switches select")];
    return new Map(boxes.map((box) => box.type === "checkbox" ? [`${box.name}/${box.value}`, box.checked] : [`${box.name}/`, box.value]));
  }

  let turns = null;
  let tag = null;

  async function look() {
    const answer = await fetch(at, { cache: "no-store", headers: tag ? { "If-None-Match": tag } : {} });
    if (answer.status === 304) return;
    if (!answer.ok) throw new Error(`${answer.status}`);
    tag = answer.headers.get("ETag");
    const news = await answer.json();
    const badge = document.getElementById("state");
    badge.textContent = news.state;
    badge.className = `state ${news.state}`;
    const going = news.state === "running" || news.state === "scoring";
    document.getElementById("progress").textContent = going || news.computing
      ? `${news.turns.toLocaleString("en")} asks, ${news.conversations.toLocaleString("en")} conversations${news.computing ? ", computing" : ""}`
      : "";
    const wants = document.body.dataset.view;
    const shows = ["overview", "depth", "gold", "recorded", "people", "load"].includes(wants) || document.querySelector("[data-pending]");
    const stale = shows && news.numbers !== document.body.dataset.numbers;
    const counted = wants === "overview" && turns !== null && turns !== news.turns;
    if (stale || counted) await replaceContent();
    turns = news.turns;
  }

  async function poll() {
    try {
      if (!document.hidden) {
        if (at) await look();
        else if (document.body.hasAttribute("data-waiting")) await replaceContent();
      }
      document.body.removeAttribute("data-lost");
    } catch {
      // The viewer was ended, or is about to be started again.
      document.body.dataset.lost = "yes";
      const said = document.getElementById("progress");
      if (said) said.textContent = "the viewer does not answer; this is what it showed last";
    }
    setTimeout(poll, EVERY_MS);
  }
  if (at || document.body.hasAttribute("data-waiting")) poll();

  // The list finds as one types.
  const form = document.querySelector("form.finder");
  if (form) {
    let waiting = 0;
    const find = () => {
      clearTimeout(waiting);
      waiting = setTimeout(async () => {
        const query = new URLSearchParams(new FormData(form));
        const address = `${form.getAttribute("action")}?${query}`;
        const answer = await fetch(address);
        if (!answer.ok) return;
        const next = new DOMParser().parseFromString(await answer.text(), "text/html");
        document.getElementById("found").replaceChildren(...next.getElementById("found").childNodes);
        history.replaceState(null, "", address);
      }, 150);
    };
    form.addEventListener("input", find);
    form.addEventListener("submit", (event) => { event.preventDefault(); find(); });
  }
})();
