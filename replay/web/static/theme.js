"use strict";
// Light, dark, or as the system has it; the choice is kept where the browser allows that.
(() => {
  const root = document.documentElement;
  const names = ["system", "light", "dark"];
  const read = () => { try { return localStorage.getItem("replay-theme"); } catch { return null; } };
  const keep = (name) => { try { localStorage.setItem("replay-theme", name); } catch { /* a file may keep nothing */ } };
  let chosen = names.includes(read()) ? read() : "system";

  function apply() {
    if (chosen === "system") delete root.dataset.theme; else root.dataset.theme = chosen;
    for (const button of document.querySelectorAll("button.theme")) {
      button.hidden = false;
      button.querySelector("span").textContent = chosen;
    }
    document.dispatchEvent(new CustomEvent("theme"));
  }

  root.classList.add("js");
  document.addEventListener("click", (event) => {
    if (!event.target.closest("button.theme")) return;
    chosen = names[(names.indexOf(chosen) + 1) % names.length];
    keep(chosen);
    apply();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  apply();
})();
