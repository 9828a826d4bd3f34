"use strict";
// Draws the plots when they come into view, in the colours of the reader's screen; builds their
// legends out of buttons; sorts the table; copies the commands.
(() => {
  const root = document.documentElement;
  const plots = new Map(JSON.parse(document.getElementById("plots").textContent).map((p) => [p.key, p]));
  const hidden = new Map([...plots.keys()].map((key) => [key, new Set()]));
  const place = (key) => document.querySelector(`[data-plot="${key}"]`);
  const SVG = "http://www.w3.org/2000/svg";

  function element(name, attributes = {}, parent = null, text = null) {
    const made = name === "svg" || parent?.namespaceURI === SVG
      ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== null) made.textContent = text;
    parent?.append(made);
    return made;
  }

  // "var:c0" is a colour of page.css, "var:c0/0.16" the same with an opacity.
  function paint(value, style) {
    if (Array.isArray(value)) return value.map((v) => paint(v, style));
    if (value && typeof value === "object")
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, paint(v, style)]));
    if (typeof value !== "string" || !value.startsWith("var:")) return value;
    const [name, opacity] = value.slice(4).split("/");
    const colour = style.getPropertyValue("--" + name).trim();
    return opacity ? colour + Math.round(255 * opacity).toString(16).padStart(2, "0") : colour;
  }

  function draw(key, width) {
    const plot = plots.get(key), at = place(key), style = getComputedStyle(root);
    const narrow = (width || at.clientWidth) < 520;
    const layout = paint(plot.layout, style);
    Object.assign(layout, {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false,
      font: { family: getComputedStyle(document.body).fontFamily, size: narrow ? 12 : 13, color: style.getPropertyValue("--ink").trim() },
      margin: { l: narrow ? 48 : 64, r: narrow ? 10 : 20, t: 14, b: 48 },
      hoverlabel: { namelength: -1 },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: style.getPropertyValue("--guide").trim(), activecolor: style.getPropertyValue("--ink").trim() },
      dragmode: narrow ? false : "zoom",
    });
    // A hidden thing stays hidden when the colours or the paper change.
    const traces = paint(plot.traces, style).map((t) => ({ ...t, visible: !hidden.get(key).has(t.legendgroup) }));
    if (width) Object.assign(layout, { width, height: 300 });
    if (!at.dataset.drawn) at.replaceChildren(); // the image that stood here until now
    Plotly.react(at, traces, layout, {
      responsive: true, displaylogo: false, scrollZoom: false,
      showSendToCloud: false, modeBarButtons: [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
      displayModeBar: narrow ? false : "hover",
    });
    // Its label says what the drawing shows; its buttons stay in reach.
    at.querySelectorAll(".main-svg").forEach((svg) => svg.setAttribute("aria-hidden", "true"));
    if (!at.dataset.drawn) legend(key);
    at.dataset.drawn = "true";
  }

  const SHAPES = {
    "circle": "M-4.2,0a4.2,4.2 0 1,0 8.4,0a4.2,4.2 0 1,0 -8.4,0Z", "square": "M-4,-4H4V4H-4Z",
    "triangle-up": "M0,-5L5,4H-5Z", "diamond": "M0,-5.5L5.5,0L0,5.5L-5.5,0Z", "triangle-down": "M0,5L5,-4H-5Z",
    "cross": "M-1.7,-5H1.7V-1.7H5V1.7H1.7V5H-1.7V1.7H-5V-1.7H-1.7Z",
    "x": "M-2.4,-5L0,-2.5L2.4,-5L5,-2.4L2.5,0L5,2.4L2.4,5L0,2.5L-2.4,5L-5,2.4L-2.5,0L-5,-2.4Z",
    "star": "M0,-5.5L1.5,-1.8L5.4,-1.7L2.4,0.8L3.4,4.5L0,2.4L-3.4,4.5L-2.4,0.8L-5.4,-1.7L-1.5,-1.8Z",
  };
  const STROKES = { solid: "", dash: "7 4", dashdot: "7 3 2 3", dot: "2 3", longdash: "11 4", longdashdot: "11 3 2 3" };

  function legend(key) {
    const box = document.querySelector(`[data-legend="${key}"]`), plot = plots.get(key), off = hidden.get(key);
    const buttons = [];
    const show = () => {
      const visible = plot.traces.map((t) => !off.has(t.legendgroup));
      Plotly.restyle(place(key), { visible });
      for (const [button, keys] of buttons) button.setAttribute("aria-pressed", String(keys.some((k) => !off.has(k))));
    };
    const toggles = (button, keys) => {
      buttons.push([button, keys]);
      button.addEventListener("click", () => {
        const shown = keys.some((k) => !off.has(k));
        for (const k of keys) shown ? off.add(k) : off.delete(k);
        show();
      });
    };
    const button = (className) => element("button", { type: "button", class: className, "aria-pressed": "true" }, box);
    const groups = [...new Set(plot.legend.map((e) => e.group))];
    if (groups.length > 1 && plot.legend.length > 6) {
      for (const group of groups) {
        const own = plot.legend.filter((e) => e.group === group), all = button("group");
        all.textContent = `all ${group} (${own.length})`;
        toggles(all, own.map((e) => e.key));
      }
    }
    for (const entry of plot.legend) {
      const one = button("entry"), colour = entry.colour.replace(/var:(.*)/, "var(--$1)");
      const sample = element("svg", { width: 34, height: 14, viewBox: "-17 -7 34 14", "aria-hidden": "true" }, one);
      if (entry.dash) element("path", { d: "M-17,0H17", "stroke-width": 2, "stroke-dasharray": STROKES[entry.dash], style: `stroke:${colour}` }, sample);
      element("path", { d: SHAPES[entry.symbol], style: `fill:${colour}` }, sample);
      element("span", {}, one, entry.label);
      toggles(one, [entry.key]);
    }
  }

  const drawn = () => [...plots.keys()].filter((key) => place(key).dataset.drawn);
  const AHEAD = 300;
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      seen.unobserve(entry.target);
      draw(entry.target.dataset.plot);
    }
  }, { rootMargin: `${AHEAD}px` });
  // What is in view at the start needs no observer, which speaks only once a frame is shown.
  for (const key of plots.keys()) {
    if (place(key).getBoundingClientRect().top < innerHeight + AHEAD) draw(key);
    else seen.observe(place(key));
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn().forEach((key) => draw(key)));
  // On paper: every plot, on white, as wide as a page; and what is folded.
  addEventListener("beforeprint", () => {
    root.classList.add("paper");
    for (const key of plots.keys()) draw(key, 680);
    document.querySelectorAll("details:not([open])").forEach((d) => { d.open = true; d.dataset.folded = ""; });
  });
  addEventListener("afterprint", () => {
    root.classList.remove("paper");
    drawn().forEach((key) => draw(key));
    document.querySelectorAll("details[data-folded]").forEach((d) => { d.open = false; delete d.dataset.folded; });
  });

  const table = document.getElementById("table");
  const order = new Intl.Collator(undefined, { numeric: true });
  table?.querySelectorAll(".sort").forEach((button, column) => button.addEventListener("click", () => {
    const heading = button.closest("th"), body = table.tBodies[0];
    const down = heading.getAttribute("aria-sort") === "ascending";
    table.querySelectorAll("[aria-sort]").forEach((th) => th.setAttribute("aria-sort", "none"));
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = (row) => button.dataset.sort === "number" ? row.cells[column].dataset.value : row.cells[column].textContent.trim();
    const rows = [...body.rows].map((row) => [value(row), row]);
    const compare = button.dataset.sort === "number" ? (a, b) => a - b : order.compare;
    // What has no value comes last, whichever way the others go.
    rows.sort(([a], [b]) => (a === "") - (b === "") || (down ? -compare(a, b) : compare(a, b)));
    body.append(...rows.map(([, row]) => row));
  }));

  document.querySelectorAll(".copy").forEach((button) => button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copy), say = button.nextElementSibling;
    // A file from the disk may not reach the clipboard; selected text can be copied by hand.
    try { await navigator.clipboard.writeText(text.textContent); say.textContent = "copied"; }
    catch { getSelection().selectAllChildren(text); say.textContent = "selected: copy with Ctrl+C"; }
  }));
})();
