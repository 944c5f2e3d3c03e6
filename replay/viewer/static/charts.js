"use strict";
// Draws the figures that the page holds as JSON, in the colours of its theme and as its switches say.
const charts = (() => {
  const CLEAR = "rgba(0,0,0,0)";
  let library = null;

  function loadLibrary() {
    library ??= new Promise((done, failed) => {
      const script = document.createElement("script");
      const packed = document.getElementById("plotly-packed");
      if (packed) {
        unpack(packed.textContent).then((text) => {
          script.textContent = text;
          document.head.append(script);
          packed.remove();
          done(window.Plotly);
        }, failed);
      } else {
        script.src = document.querySelector("meta[name=plotly]").content;
        script.onload = () => done(window.Plotly);
        script.onerror = failed;
        document.head.append(script);
      }
    });
    return library;
  }

  async function unpack(base64) {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  function color(name, style) {
    const [variable, opacity] = name.split("/");
    const hex = style.getPropertyValue(variable).trim();
    if (!opacity) return hex;
    const parts = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    return `rgba(${parts.join(",")},${opacity})`;
  }

  function colored(value, style) {
    if (typeof value === "string") return value.startsWith("--c") ? color(value, style) : value;
    if (Array.isArray(value)) return value;
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, colored(one, style)]));
  }

  function chosen(figure) {
    const scope = figure.closest(".own-switch, [data-charts]") ?? document;
    const form = scope.querySelector("form.switches");
    const metric = form?.elements.metric?.value;
    const off = { system: new Set(), policy: new Set() };
    for (const box of form?.querySelectorAll("input[type=checkbox]") ?? []) {
      if (!box.checked) off[box.name].add(box.value);
    }
    return { metric, hides: (data) => off.system.has(data.system) || off.policy.has(data.policy) };
  }

  function variantName(figures, metric) {
    if (metric !== undefined && metric in figures) return metric;
    return "" in figures ? "" : Object.keys(figures)[0];
  }

  async function draw(figure) {
    const Plotly = await loadLibrary();
    const style = getComputedStyle(document.documentElement);
    const figures = (figure.figures ??= JSON.parse(figure.querySelector("script.figures").textContent));
    const { metric, hides } = chosen(figure);
    const name = variantName(figures, metric);
    const { data, layout } = figures[name];
    const ink = style.getPropertyValue("--ink").trim();
    const soft = style.getPropertyValue("--soft").trim();
    const grid = style.getPropertyValue("--grid").trim();
    const axes = Object.fromEntries(
      Object.entries(layout).filter(([key]) => /^[xy]axis/.test(key)).map(([key, axis]) => [key, {
        ...axis, gridcolor: key[0] === "x" ? "rgba(0,0,0,0)" : grid, linecolor: grid, tickcolor: grid,
        zerolinecolor: soft, automargin: true, fixedrange: true,
      }]),
    );
    const whole = {
      ...layout, ...axes,
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: soft },
      hoverlabel: { bgcolor: style.getPropertyValue("--card").trim(), bordercolor: grid, font: { color: ink } },
      dragmode: false,
    };
    const shown = data.filter((trace) => !trace.meta || !hides(trace.meta)).map((trace) => colored(trace, style));
    const plot = figure.querySelector(".plot");
    figure.bands = bandsOf(shown);
    // Plotly lets go of its height when the window changes, and the picture would lie over what follows.
    plot.style.height = `${layout.height}px`;
    await Plotly.react(plot, shown, whole, { displayModeBar: false, responsive: true });
    if (!figure.dataset.drawn) followPointer(figure, plot);
    figure.dataset.drawn = name || "yes";
  }

  // Bands of more than two curves hide each other: one is drawn then, that of the curve pointed at. The others
  // are transparent and not left out, so that the axis stays as it is.
  function bandsOf(shown) {
    const curves = new Set(shown.filter((trace) => trace.meta && !trace.meta.band).map((trace) => trace.legendgroup));
    if (curves.size <= 2) return [];
    const bands = [];
    shown.forEach((trace, index) => {
      if (!trace.meta?.band) return;
      bands.push({ index, curve: trace.legendgroup, color: trace.fillcolor });
      trace.fillcolor = CLEAR;
    });
    return bands;
  }

  // Plotly tells of the points at a depth once, and of nothing while the pointer moves up and down there.
  function followPointer(figure, plot) {
    let points = [];
    plot.on("plotly_hover", (event) => {
      points = event.points.filter((point) => point.data.meta && point.data.type === "scatter");
      showBand(figure, nearest(points, plot, event.event));
    });
    plot.on("plotly_unhover", () => { points = []; });
    plot.addEventListener("mousemove", (event) => showBand(figure, nearest(points, plot, event)));
  }

  function nearest(points, plot, event) {
    const y = event.clientY - plot.getBoundingClientRect().top;
    const away = (point) => Math.abs(point.yaxis._offset + point.yaxis.d2p(point.y) - y);
    return points.toSorted((one, other) => away(one) - away(other))[0]?.data.legendgroup;
  }

  function showBand(figure, curve) {
    if (!figure.bands.length || curve === undefined || curve === figure.dataset.band) return;
    figure.dataset.band = curve;
    const colors = figure.bands.map((band) => (band.curve === curve ? band.color : CLEAR));
    window.Plotly.restyle(figure.querySelector(".plot"), { fillcolor: colors }, figure.bands.map((band) => band.index));
  }

  function tables(figure) {
    const { metric, hides } = chosen(figure);
    const all = [...figure.querySelectorAll("details.data [data-metric]")];
    const names = Object.fromEntries(all.map((one) => [one.dataset.metric, one]));
    const shown = names[variantName(names, metric)];
    for (const one of all) one.hidden = one !== shown;
    for (const row of shown?.querySelectorAll("tr[data-policy]") ?? []) row.hidden = hides(row.dataset);
  }

  function parts(scope) {
    const select = scope.querySelector("form.switches select[name=metric]");
    if (!select) return;
    for (const row of scope.querySelectorAll(".metric-parts tr[data-metric]")) row.hidden = row.dataset.metric !== select.value;
  }

  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      seen.unobserve(entry.target);
      draw(entry.target).catch((error) => console.error(`chart ${entry.target.id}: ${error}`));
    }
  }, { rootMargin: "400px" });

  function redraw(scope) {
    for (const figure of scope.querySelectorAll("figure.chart")) {
      tables(figure);
      if (figure.dataset.drawn) draw(figure).catch((error) => console.error(`chart ${figure.id}: ${error}`));
    }
    parts(scope);
  }

  function start(scope) {
    for (const figure of scope.querySelectorAll("figure.chart")) {
      tables(figure);
      seen.observe(figure);
    }
    for (const one of [scope, ...scope.querySelectorAll("[data-charts]")]) parts(one);
  }

  document.addEventListener("change", (event) => {
    const form = event.target.closest("form.switches");
    if (form) redraw(form.closest(".own-switch, [data-charts]") ?? document);
  });
  document.addEventListener("theme", () => redraw(document));
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button.svg");
    if (!button) return;
    const figure = button.closest("figure.chart");
    await draw(figure);
    const Plotly = await loadLibrary();
    const plot = figure.querySelector(".plot");
    await Plotly.downloadImage(plot, { format: "svg", filename: button.dataset.name, width: plot.offsetWidth, height: plot.offsetHeight });
  });
  return { start, unpack };
})();
charts.start(document);
