"use strict";
// Says under an "expect" what is wrong with it while it is typed; the server says so, too, when it is sent.
(() => {
  for (const field of document.querySelectorAll("textarea[name^='expect-']")) {
    const told = field.closest("label").nextElementSibling;
    let waiting, asked = 0;
    field.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(async () => {
        const mine = ++asked;
        const answer = await fetch("/check", { method: "POST", body: new URLSearchParams({ expect: field.value }) });
        const { problem, checks } = await answer.json();
        if (mine !== asked) return;
        field.setAttribute("aria-invalid", String(problem !== null));
        told.classList.toggle("bad", problem !== null);
        told.textContent = problem ?? (checks ? `${checks} ${checks === 1 ? "check" : "checks"}` : "");
      }, 250);
    });
  }
})();
