"use strict";
// Copies a link where the browser lets a page do so; without it the link can be copied by hand.
(() => {
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).href);
      button.textContent = "Copied";
    });
  }
})();
