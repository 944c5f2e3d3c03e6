"use strict";
// Keys, focus and a lost connection. Everything works without this file; forms are sent as any form is.
(() => {
  const fields = "input:not([type=radio]):not([type=checkbox]), textarea, select";
  const form = document.querySelector("form.answer-form");
  const groups = form ? [...form.querySelectorAll(".options")] : [];

  // Where a page says nothing else, it begins at its heading, or at what is wrong.
  const start = ["[autofocus]", ".faults", "main h2"].map((one) => document.querySelector(one)).find(Boolean);
  if (start && !location.hash) {
    if (start.matches("h2")) start.tabIndex = -1;
    start.focus();
  }

  // Single letters are in the way of those who dictate: they can be turned off.
  const dialog = document.querySelector("dialog.keys"), opener = document.querySelector("button.show-keys");
  const stored = () => { try { return localStorage.getItem("replay-study-keys"); } catch { return null; } };
  let on = stored() !== "off";
  if (dialog) {
    const box = dialog.querySelector(".keys-on");
    opener.hidden = false;
    opener.addEventListener("click", () => dialog.showModal());
    box.checked = on;
    box.addEventListener("change", () => {
      on = box.checked;
      try { localStorage.setItem("replay-study-keys", on ? "on" : "off"); } catch { /* for this page, then */ }
    });
  }

  function current() {
    return document.activeElement?.closest?.(".options")
      ?? groups.find((group) => !group.querySelector("input:checked")) ?? groups.at(-1);
  }

  function choose(number) {
    const group = current(), input = group?.querySelectorAll("input")[number - 1];
    if (!input) return false;
    input.click();
    input.focus();
    const open = groups.slice(groups.indexOf(group) + 1).find((one) => !one.querySelector("input:checked"));
    open?.querySelector("input").focus();
    return true;
  }

  // The range's own text, whatever a style makes of spaces; kept, since a click on the button may clear it.
  let selected = "";
  document.addEventListener("selectionchange", () => {
    const selection = getSelection(), range = selection.rangeCount ? selection.getRangeAt(0) : null;
    const around = range?.commonAncestorContainer;
    if (range && !range.collapsed && (around.closest ? around : around.parentElement)?.closest(".sources, .work")) {
      selected = range.toString().trim();
    }
  });

  function take(area) {
    if (!area || !selected) return false;
    area.value = selected;
    area.dispatchEvent(new Event("input", {bubbles: true}));
    area.focus();
    return true;
  }

  function comment() {
    const area = form?.querySelector("textarea[name=comment]");
    if (!area) return false;
    area.closest("details").open = true;
    area.focus();
    return true;
  }

  function back() {
    const link = document.querySelector("a.back");
    link?.click();
    return Boolean(link);
  }

  function done(event) {
    if (event.key === "?") return opener && !opener.hidden ? (dialog.showModal(), true) : false;
    if (/^[1-9]$/.test(event.key)) return choose(Number(event.key));
    if (event.key === "Enter") return form && !event.target.closest("summary, a, button") ? (form.requestSubmit(), true) : false;
    if (event.key === "Backspace") return back();
    if (event.key === "t") return take(form?.querySelector("textarea[data-span]"));
    if (event.key === "c") return comment();
    return false;
  }

  document.addEventListener("keydown", (event) => {
    if (dialog?.open || event.isComposing) return;
    if (event.target.closest(fields)) {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.form?.requestSubmit();
      return;
    }
    if (on && !event.ctrlKey && !event.metaKey && !event.altKey && done(event)) event.preventDefault();
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button.take");
    if (button) take(button.closest("fieldset").querySelector("textarea"));
  });

  // Where the server can't be reached the page stays, with all that was written in it.
  async function send(event) {
    const sent = event.target;
    if (sent.method !== "post" || event.defaultPrevented) return;
    event.preventDefault();
    if (sent.dataset.sending) return;  // the click's id makes a second one harmless anyway
    sent.dataset.sending = "yes";
    // A form that is sent from here has no button in it.
    const chosen = document.createElement("input");
    Object.assign(chosen, {type: "hidden", name: event.submitter?.name ?? "", value: event.submitter?.value ?? ""});
    try {
      await fetch(document.querySelector("script[src$='study.js']").src, {method: "HEAD", cache: "no-store", signal: AbortSignal.timeout(10_000)});
      if (chosen.name) sent.append(chosen);
      sent.submit();
    } catch {
      delete sent.dataset.sending;
      const told = sent.querySelector(".unreached") ?? document.createElement("p");
      told.className = "error unreached";
      told.setAttribute("role", "alert");
      told.textContent = "Not saved: the server can't be reached. Nothing is lost; try again in a moment.";
      sent.append(told);
    }
  }
  document.addEventListener("submit", send);
  addEventListener("pageshow", (event) => {
    const sent = [...document.forms].filter((one) => one.dataset.sending);
    for (const one of sent) delete one.dataset.sending;
    document.querySelectorAll("form > input[name=way_out]").forEach((one) => one.remove());
    // A page that the browser kept as it was sent: what is saved may be something else by now.
    if (event.persisted && sent.length) location.reload();
  });
})();
