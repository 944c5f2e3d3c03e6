"use strict";
// Keys: a number chooses in the first field that is open, or in the one that has the focus; Enter goes on.
(() => {
  const form = document.querySelector("form.answer-form");
  if (!form) return;
  const groups = [...form.querySelectorAll(".options")];

  function current() {
    return document.activeElement?.closest?.(".options")
      ?? groups.find((group) => !group.querySelector("input:checked")) ?? groups.at(-1);
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("textarea, summary, a, button.theme")) return;
    if (/^[1-9]$/.test(event.key)) {
      const group = current(), input = group?.querySelectorAll("input")[Number(event.key) - 1];
      if (!input) return;
      event.preventDefault();
      input.checked = true;
      input.focus();
      const next = groups[groups.indexOf(group) + 1];
      if (next && !next.querySelector("input:checked")) next.querySelector("input").focus();
    } else if (event.key === "Enter" && event.target.closest("form") === form) {
      event.preventDefault();
      form.requestSubmit();
    }
  });

  form.addEventListener("submit", () => {
    form.querySelector("button.main").disabled = true;  // the click's id makes a second one harmless anyway
  });
})();
