"use strict";
// Tables as files, and the columns of a conversation.
(() => {
  function csvText(table) {
    const rows = [...table.rows].filter((row) => !row.hidden);
    return rows.map((row) => [...row.cells].map(csvCell).join(",")).join("\r\n") + "\r\n";
  }

  function csvCell(cell) {
    let text = cell.dataset.exact ?? cell.textContent.trim();
    // A spreadsheet would run a text that begins like this.
    if (cell.dataset.exact === undefined && /^[=+\-@\t]/.test(text)) text = `'${text}`;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  function save(name, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button.csv");
    if (!button) return;
    const shown = button.closest("details").querySelector("[data-metric]:not([hidden])");
    const metric = shown.dataset.metric;
    save(metric ? `${button.dataset.name}-${metric}.csv` : `${button.dataset.name}.csv`, csvText(shown.querySelector("table")));
  });

  document.addEventListener("change", (event) => {
    const form = event.target.closest("form.columns");
    if (!form) return;
    const table = form.parentElement.querySelector("table.sides");
    for (const cell of table.querySelectorAll("[data-column]")) {
      if (cell.dataset.column === event.target.value) cell.hidden = !event.target.checked;
    }
  });

  // A file has all rows that it shows; the viewer's form asks for a page of its own.
  document.addEventListener("change", (event) => {
    const form = event.target.closest("form.interventions");
    if (!form || form.querySelector("button")) return;
    for (const row of document.querySelectorAll("table.interventions tbody tr")) {
      row.hidden = event.target.value !== "" && row.dataset.reason !== event.target.value;
    }
  });

  // On a narrow screen a long conversation is folded, all but the turn that was asked for.
  const narrow = matchMedia("(max-width: 46rem)");
  const FOLDED_FROM = 4;

  function setFolded(row, folded) {
    row.classList.toggle("folded", folded);
    row.querySelector("button.fold").setAttribute("aria-expanded", String(!folded));
  }

  function fold(wanted) {
    const rows = [...document.querySelectorAll("table.sides > tbody > tr")];
    for (const row of rows) setFolded(row, narrow.matches && rows.length >= FOLDED_FROM && row.id !== wanted);
    const row = wanted && rows.find((one) => one.id === wanted);
    if (!row) return;
    row.classList.add("wanted");
    row.scrollIntoView();
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button.fold");
    if (button) setFolded(button.closest("tr"), button.getAttribute("aria-expanded") === "true");
  });
  document.addEventListener("content", (event) => fold(event.detail));
  narrow.addEventListener("change", () => fold());
  fold(/^#turn-\d+$/.test(location.hash) ? location.hash.slice(1) : null);

  // On a narrow screen each side stands below the other and needs its name.
  document.addEventListener("content", label);
  function label() {
    for (const head of document.querySelectorAll("table.sides > thead [data-column]")) {
      for (const cell of head.closest("table").querySelectorAll(`td[data-column="${head.dataset.column}"]`)) {
        cell.dataset.label = head.textContent.trim().replace(/\s+/g, " ");
      }
    }
  }
  label();
})();
