// Draws the report from the document that stands in the page. Texts reach the page as text nodes only.
"use strict";
(() => {
  const report = JSON.parse(document.getElementById("document").textContent);
  const main = document.getElementById("report");
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
    svg.setAttribute("aria-label", `${label}. ${description} A table below has its data.`);
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

  function head() {
    const { verdict, test } = report;
    const [kind] = mark(verdict.passed);
    document.getElementById("head").append(
      element("h1", {}, element("span", { class: `verdict ${kind}`, id: "verdict" }, verdict.word ?? "No verdict"), test.name),
      element("p", { class: "message" }, verdict.message || verdict.reason),
      element("p", { class: "quiet" }, [test.namespace && `namespace ${test.namespace}`, verdict.reason, verdict.startTime && `${verdict.startTime} to ${verdict.completionTime ?? "?"}`].filter(Boolean).join(" · ")));
    if (report.thresholds.length)
      document.getElementById("head").append(element("h2", { class: "plain" }, "Thresholds"), table("Thresholds", [
        ["verdict", (one) => { const [name, text] = mark(one.passed); return element("strong", { class: name }, text); }],
        ["threshold", (one) => one.threshold],
        ["seen", (one) => one.observed],
        ["value", (one) => one.value, true],
        ["95 % interval", (one) => (absent(one.low) && absent(one.high) ? null : `${figure(one.low)} to ${figure(one.high)}`)],
        ["unit", (one) => one.unit],
      ], report.thresholds));
    const results = report.results;
    if (results) document.getElementById("head").append(figures([
      ["capacity", report.capacity?.inWords], ["offered/s", results.offeredRate], ["completed/s", results.completedRate],
      ["errors %", results.errorPercent], ["p50 ms", percentile("total", 50)], ["p90 ms", percentile("total", 90)], ["p99 ms", results.p99Ms],
    ]));
    for (const one of report.distorted)
      document.getElementById("head").append(element("p", { class: "caution" }, `Not to be trusted, ${figure(one.fromSeconds)} s to ${figure(one.toSeconds)} s: ${one.message}`));
  }

  function percentile(name, wanted) {
    const step = report.results?.steps?.find((one) => one.step === name);
    return step?.intervals?.find((one) => one.percentile === wanted)?.ms;
  }

  // Charts over time share one axis, on which the warm-up and what is distorted are marked.
  function timeMarks(domain) {
    const marks = [Plot.rect(report.distorted, { x1: "fromSeconds", x2: "toSeconds", fill: "var(--distorted)", fillOpacity: 0.18 }), Plot.ruleY([0], { stroke: "var(--line)" })];
    if (report.warmUpSeconds > 0 && report.warmUpSeconds < domain[1])
      marks.push(Plot.ruleX([report.warmUpSeconds], { stroke: "var(--quiet)", strokeDasharray: "3 3" }),
        Plot.text([report.warmUpSeconds], { x: (at) => at, text: () => "measured from here", frameAnchor: "top-left", dx: 4, fill: "var(--quiet)" }));
    return marks;
  }

  function lines(intervals, series) {
    return series.map(([name, value], index) => Plot.lineY(intervals, {
      x: "atSeconds", y: (one) => value(one) ?? NaN, stroke: colours[index], strokeWidth: 1.8, strokeDasharray: dashes[index],
    }));
  }

  function timeChart(label, description, unit, series, scale = {}) {
    const intervals = report.overTime.intervals;
    const domain = [0, intervals[intervals.length - 1].atSeconds];
    const shown = series.filter(([, value]) => intervals.some((one) => !absent(value(one))));
    if (!shown.length) return null;
    return chart(label, description, {
      height: 220, x: { label: "seconds since the start of the load", domain }, y: { label: unit, grid: true, ...scale },
      marks: [...timeMarks(domain), ...lines(intervals, shown)],
    }, shown.map(([name], index) => [name, colours[index], dashes[index]]), table(label, [
      ["to second", (one) => one.atSeconds, true], ...shown.map(([name, value]) => [`${name} (${unit})`, value, true]),
    ], intervals, { tall: true, digits: exact }));
  }

  function overTime() {
    if (!report.overTime?.intervals.length) return;
    const intervals = report.overTime.intervals;
    const outcomes = [...new Set(intervals.flatMap((one) => Object.keys(one.failedPercent)))];
    section("over-time", "Over time",
      timeChart("Rate", "Iterations begun and completed in each second.", "per second", [["completed", (one) => one.completedRate], ["begun", (one) => one.begunRate]]),
      timeChart("Latency", "Whole iterations that succeeded, by when they ended.", "ms", [["p50", (one) => one.p50Ms], ["p90", (one) => one.p90Ms], ["p99", (one) => one.p99Ms]]),
      outcomes.length
        ? timeChart("Errors", "The share of the iterations that ended, by how they failed.", "% of iterations", outcomes.map((name) => [name, (one) => one.failedPercent[name] ?? (absent(one.errorPercent) ? null : 0)]))
        : element("p", { class: "quiet" }, "No iteration failed."),
      timeChart("Under way", "Iterations under way, users, and sessions held.", "at once", [["in flight", "inFlight"], ["users", "users"], ["sessions held", "held"]]
        .filter(([, name]) => intervals.some((one) => one[name])).map(([title, name]) => [title, (one) => one[name]])));
  }

  // HdrHistogram's axis: the logarithm of what lies above a percentile.
  const nines = (percent) => -Math.log10(1 - percent / 100);

  function distribution() {
    const all = report.distributions;
    if (!all.length) return;
    const shown = all.slice(0, 4);
    const rows = shown.flatMap(({ step, points, statedTo }) => points.filter(([percent, ms]) => percent < 100 && ms > 0)
      .map(([percent, ms]) => ({ step, percent, ms, at: nines(percent), stated: percent <= statedTo })));
    if (!rows.length) return;
    const ticks = [0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999].filter((percent) => nines(percent) <= d3.max(rows, (row) => row.at));
    const marks = shown.flatMap(({ step }, index) => {
      const own = rows.filter((row) => row.step === step);
      const beyond = own.filter((row, at) => !row.stated || (own[at + 1] && !own[at + 1].stated));
      return [Plot.lineY(own.filter((row) => row.stated), { x: "at", y: "ms", stroke: colours[index], strokeWidth: 2, strokeDasharray: dashes[index] }),
        Plot.lineY(beyond, { x: "at", y: "ms", stroke: colours[index], strokeWidth: 1, strokeOpacity: 0.45 })];
    });
    section("distribution", "Latency by percentile", chart("Distribution", "The percentile's axis is logarithmic, as HdrHistogram plots it. Faint: too few samples to state a percentile.", {
      height: 300, x: { label: "percentile", ticks: ticks.map(nines), tickFormat: (at) => String(ticks.find((percent) => nines(percent) === at)), grid: true },
      y: { type: "log", label: "ms", grid: true, tickFormat: (ms) => figure(ms) }, marks,
    }, shown.map(({ step, count }, index) => [`${step} (${figure(count)} samples)`, colours[index], dashes[index]]),
    element("div", {}, ...all.map(({ step, points, statedTo }) => element("div", {}, element("h3", {}, step), table(`Distribution of ${step}`, [
      ["percentile", ([percent]) => percent, true], ["ms", ([, ms]) => ms, true], ["note", ([percent]) => (percent > statedTo && percent < 100 ? "too few samples" : percent === 100 ? "maximum" : "")],
    ], points, { tall: true, digits: exact }))))));
  }

  function steps() {
    const rows = report.results?.steps ?? [];
    if (!rows.length) return;
    const of = (wanted) => (step) => step.intervals?.find((one) => one.percentile === wanted)?.ms;
    const wide = report.waterfall;
    section("steps", "Steps", wide.length ? chart("An iteration's parts", "Each bar is the mean of one part, and begins where the one before ends. A first byte is a part of the read below it.", {
      height: 40 + 22 * wide.length, marginLeft: 150, marginRight: 70, x: { label: "ms", grid: true }, y: { label: null, domain: wide.map((one) => one.step) },
      marks: [Plot.barX(wide, { x1: "beginMs", x2: (one) => one.beginMs + (one.meanMs ?? 0), y: "step", fill: "var(--c1)", insetTop: 3, insetBottom: 3 }),
        Plot.text(wide, { x: (one) => one.beginMs + (one.meanMs ?? 0), y: "step", text: (one) => `${figure(one.meanMs)} ms`, textAnchor: "start", dx: 5, fill: "currentColor" }), Plot.ruleX([0], { stroke: "var(--line)" })],
    }, [], table("An iteration's parts", [["part", (one) => one.step], ["begins ms", (one) => one.beginMs, true], ["mean ms", (one) => one.meanMs, true], ["p50 ms", (one) => one.p50Ms, true], ["p99 ms", (one) => one.p99Ms, true], ["count", (one) => one.count, true]], wide, { digits: exact })) : null,
    element("h3", {}, "All steps"),
    table("All steps", [["step", (one) => one.step], ["count", (one) => one.count, true], ["failures", (one) => one.failures, true], ["per second", (one) => one.rate, true], ["p50 ms", of(50), true], ["p90 ms", of(90), true], ["p99 ms", of(99), true], ["max ms", (one) => one.maxMs, true]], rows));
  }

  function errors() {
    const rows = report.results?.errors ?? [];
    if (!rows.length) return;
    section("errors", "Errors", table("Errors", [["step", (one) => one.step], ["outcome", (one) => one.outcome], ["count", (one) => one.count, true], ["what was said first", (one) => one.firstMessage]], rows));
  }

  function search() {
    const { capacity } = report;
    if (!capacity?.trials?.length) return;
    const more = new Map(report.trials.map((one) => [one.number, one]));
    const state = { passed: ["var(--c4)", "circle"], failed: ["var(--c2)", "times"], invalid: ["var(--c9)", "triangle"] };
    const bounds = [capacity.lowerBound, capacity.upperBound].filter((bound) => !absent(bound));
    section("search", "Search for the capacity", chart("Trials", `Each trial by when it began and its load (${capacity.unit}). The lines are the bounds that were found.`, {
      height: 260, inset: 14, x: { label: "seconds since the start of the first trial" }, y: { label: capacity.unit, grid: true },
      marks: [Plot.ruleY(bounds, { stroke: "var(--quiet)", strokeDasharray: "5 3" }), Plot.line(capacity.trials, { x: "startSeconds", y: "amount", stroke: "var(--line)" }),
        ...Object.entries(state).map(([name, [colour, symbol]]) => Plot.dot(capacity.trials.filter((one) => one.state === name), { x: "startSeconds", y: "amount", symbol, r: 6, stroke: colour, strokeWidth: 2.2 })),
        Plot.text(capacity.trials, { x: "startSeconds", y: "amount", text: (one) => `${one.number}`, dy: -13, fill: "currentColor" })],
    }, [], null),
    element("p", { class: "quiet" }, "○ passed · × failed · △ not to be trusted"),
    table("Trials", [["trial", (one) => one.number, true], ["load", (one) => one.amount, true], ["state", (one) => one.state], ["completed/s", (one) => one.completedRate, true], ["errors %", (one) => one.errorPercent, true], ["p99 ms", (one) => one.p99Ms, true],
      ["server's cores", (one) => more.get(one.number)?.server?.cores, true], ["stolen %", (one) => more.get(one.number)?.stolenPercent, true], ["why", (one) => one.message]], capacity.trials),
    absent(capacity.reportedTrial) ? null : element("p", { class: "quiet" }, `What follows is of trial ${capacity.reportedTrial}.`));
  }

  function server() {
    const { server: used, results } = report;
    const seen = results?.target;
    if (!used && !seen) return;
    const flat = Object.entries(seen ?? {}).filter(([, value]) => typeof value !== "object").map(([name, value]) => [words(name), name.endsWith("Bytes") ? bytes(value) : value]);
    section("server", "The server", used ? figures([
      ["cores used", used.cores], ["cores allowed", used.coresLimit], ["CPU stolen %", used.stolenPercent], ["sessions", used.sessions], ["memory", bytes(used.memoryBytes)], ["memory at most", bytes(used.memoryPeakBytes)],
      ["dropped by MaxStartups", used.droppedIsLowerBound ? `${used.droppedMaxStartups} or more` : used.droppedMaxStartups], ["dropped by a penalty", used.droppedIsLowerBound ? `${used.droppedPenalty} or more` : used.droppedPenalty],
    ]) : null, flat.length ? table("What the server counted", [["figure", ([name]) => name], ["value", ([, value]) => exact(value), true]], flat) : null,
    results?.maxStartups ? element("p", {}, results.maxStartups.message) : null);
  }

  function generator() {
    const found = report.results?.generator;
    if (!found) return;
    section("generator", "The load generator", element("p", { class: "quiet" }, "Whether the numbers can be trusted: each figure is the worst worker's."),
      table("The load generator", [["figure", ([name]) => words(name)], ["value", ([, value]) => value, true]], Object.entries(found), { digits: exact }));
  }

  function rest() {
    const agreed = report.results?.negotiated ?? [];
    if (agreed.length) section("algorithms", "Negotiated algorithms", table("Negotiated algorithms", [["key exchange", (one) => one.kex], ["cipher", (one) => one.cipher], ["MAC", (one) => one.mac], ["host key", (one) => one.hostKey], ["server", (one) => one.serverVersion], ["logins", (one) => one.count, true]], agreed));
    section("spec", "The spec", element("pre", { tabindex: "0", role: "group", "aria-label": "The text of the spec" }, report.spec));
    if (report.lacks.length) section("lacks", "What this report lacks", element("ul", { class: "notes" }, ...report.lacks.map((said) => element("li", {}, said))));
  }

  head();
  search();
  overTime();
  distribution();
  steps();
  errors();
  server();
  generator();
  rest();
  document.getElementById("contents").append(element("ul", {}, ...contents.map(([id, title]) => element("li", {}, element("a", { href: `#${id}` }, title)))));
  document.getElementById("foot").append(element("p", { class: "quiet" }, `${report.version}, by sshload ${report.release}`));
  document.documentElement.dataset.rendered = "yes";
})();
