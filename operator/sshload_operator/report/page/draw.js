// What the pages of all reports draw with. Texts reach a page as text nodes only.
"use strict";
const draw = (() => {
  const main = document.getElementById("report");
  const head = document.getElementById("head");
  const contents = [];
  const colours = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((number) => `var(--c${number})`);
  const dashes = ["none", "7 4", "2 3", "10 3 2 3", "5 2", "1 4", "12 4", "4 4 1 4", "3 1"];
  const WIDTH = 1040;
  const MARGINS = { width: WIDTH, marginLeft: 60, marginRight: 20, marginBottom: 44 };

  // Figures as text: what is absent is a dash.
  const absent = (value) => value === undefined || value === null;
  const figure = (value) => (absent(value) ? "-" : typeof value === "number" ? value.toLocaleString("en", { maximumSignificantDigits: 4 }) : String(value));
  const exact = (value) => (absent(value) ? "-" : typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 9 }) : String(value));
  const bytes = (value) => (absent(value) ? "-" : value >= 1e9 ? `${figure(value / 1e9)} GB` : value >= 1e6 ? `${figure(value / 1e6)} MB` : `${figure(value / 1e3)} kB`);
  const words = (name) => name.replace(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`);

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children.filter((child) => !absent(child)));
    return made;
  }

  // A table: columns are [head, value of a row, whether it is a number].
  function table(caption, columns, rows, { tall = false, digits = figure } = {}) {
    const head = element("tr", {}, ...columns.map(([name, , number]) => element("th", { scope: "col", ...(number ? { class: "number" } : {}) }, name)));
    const body = rows.map((row) => element("tr", {}, ...columns.map(([, value, number]) => {
      const found = value(row);
      return element("td", number ? { class: "number" } : {}, found instanceof Node ? found : number ? digits(found) : absent(found) ? "-" : String(found));
    })));
    return element("div", { class: tall ? "wide tall" : "wide", tabindex: "0", role: "group", "aria-label": `${caption}: a table` },
      element("table", { "aria-label": caption }, element("thead", {}, head), element("tbody", {}, ...body)));
  }

  function section(id, title, ...children) {
    contents.push([id, title]);
    main.append(element("section", { id, "aria-labelledby": `${id}-title` }, element("h2", { id: `${id}-title` }, title), ...children));
  }

  // A chart with its legend, and its data as a table; without `data` a table stands beside it.
  function chart(label, description, options, legend, data) {
    const drawn = Plot.plot({ ...MARGINS, style: { fontSize: "12px", background: "transparent" }, ...options });
    const svg = drawn.tagName === "svg" ? drawn : drawn.querySelector("svg");
    for (const group of svg.querySelectorAll("[aria-label]")) { // of an image's parts nobody is told
      group.dataset.mark = group.getAttribute("aria-label");
      group.removeAttribute("aria-label");
    }
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `${label}. ${description} ${data ? "A table below has its data." : "A table has its data."}`);
    const entries = legend.map(([name, colour, dash]) => element("li", {}, key(colour, dash), name));
    return element("div", {}, element("h3", {}, label), element("p", { class: "quiet" }, description),
      legend.length > 1 ? element("ul", { class: "legend", "aria-label": `Lines of ${label}` }, ...entries) : null,
      element("figure", {}, drawn),
      data ? element("details", {}, element("summary", {}, `${label} as a table`), data) : null);
  }

  function key(colour, dash = "none") {
    const svg = d3.create("svg").attr("width", 26).attr("height", 10).attr("aria-hidden", "true");
    svg.append("line").attr("x1", 0).attr("x2", 26).attr("y1", 5).attr("y2", 5)
      .attr("stroke", colour).attr("stroke-width", 2.5).attr("stroke-dasharray", dash);
    return svg.node();
  }

  function figures(pairs) {
    return element("dl", { class: "figures" }, ...pairs.filter(([, value]) => !absent(value)).map(([name, value]) =>
      element("div", {}, element("dt", {}, name), element("dd", { "data-figure": name }, figure(value)))));
  }

  const mark = (passed) => (passed === true ? ["passed", "✓ met"] : passed === false ? ["failed", "✗ broken"] : ["unknown", "? cannot be said"]);
  const bounds = (one) => (absent(one?.low) || absent(one?.high) ? null : `${figure(one.low)} to ${figure(one.high)}`);

  // The name of a test, which leads to its page where the operator serves this one.
  const home = head.querySelector("a")?.getAttribute("href");
  const test = (name) => (home && name ? element("a", { href: `${home}/tests/${encodeURIComponent(name)}` }, name) : name);

  // The verdict with its name, why, and facts in one line.
  function verdict({ name, namespace }, { word, reason, message, passed, startTime, completionTime }, ...facts) {
    head.append(
      element("h1", {}, element("span", { class: `verdict ${mark(passed)[0]}`, id: "verdict" }, word ?? "No verdict"), name),
      element("p", { class: "message" }, message || reason || ""),
      element("p", { class: "quiet" }, [namespace && `namespace ${namespace}`, reason, startTime && `${startTime} to ${completionTime ?? "?"}`, ...facts].filter(Boolean).join(" · ")));
  }

  // What logins agreed on; `first` are columns before the others.
  function negotiated(first, rows) {
    if (rows.length) section("algorithms", "Negotiated algorithms", table("Negotiated algorithms", [...first, ["key exchange", (one) => one.kex], ["cipher", (one) => one.cipher], ["MAC", (one) => one.mac], ["host key", (one) => one.hostKey], ["server", (one) => one.serverVersion], ["logins", (one) => one.count, true]], rows));
  }

  // What every report ends with: the spec, what is lacking, the contents, and which release made it.
  function finish({ spec, lacks, version, release }) {
    if (spec) section("spec", "The spec", element("pre", { tabindex: "0", role: "group", "aria-label": "The text of the spec" }, spec));
    if (lacks.length) section("lacks", "What this report lacks", element("ul", { class: "notes" }, ...lacks.map((said) => element("li", {}, said))));
    document.getElementById("contents").append(element("ul", {}, ...contents.map(([id, title]) => element("li", {}, element("a", { href: `#${id}` }, title)))));
    document.getElementById("foot").append(element("p", { class: "quiet" }, `${version}, by sshload ${release}`));
    document.documentElement.dataset.rendered = "yes";
  }

  return { report: JSON.parse(document.getElementById("document").textContent), head, colours, dashes, absent, figure, exact, bytes, words, element, table, section, chart, figures, mark, bounds, test, verdict, negotiated, finish };
})();
