"use strict";
// Copies a link or a code where the browser lets a page do so; without it they can be copied by hand.
(() => {
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const copied = document.getElementById(button.dataset.copy);
      await navigator.clipboard.writeText(copied.href ?? copied.textContent);
      button.textContent = "Copied";
    });
  }
})();
