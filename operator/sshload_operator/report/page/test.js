// Draws the report of a test from the document that stands in the page.
"use strict";
(() => {
  const { report, colours, dashes, absent, figure, exact, bytes, words, element, table, section, chart, figures, mark, bounds } = draw;
  const other = report.against;
  const MOST_CAUTIONS = 10;

  function head() {
    draw.verdict(report.test, report.verdict);
    if (report.thresholds.length)
      draw.head.append(element("h2", { class: "plain" }, "Thresholds"), table("Thresholds", [
        ["verdict", (one) => { const [name, text] = mark(one.met); return element("strong", { class: name }, text); }],
        ["threshold", (one) => one.message],
        ...(report.thresholds.every((one) => absent(one.low) && absent(one.high)) ? [] : [
          ["value", (one) => one.value, true],
          ["95 % interval", (one) => (absent(one.low) && absent(one.high) ? null : `${figure(one.low)} to ${figure(one.high)}${one.kind === "capacity" ? " (bounds)" : ""}`)],
          ["unit", (one) => one.unit],
        ]),
      ], report.thresholds));
    const results = report.results;
    if (results) draw.head.append(figures([
      ["capacity", report.capacity?.inWords], ["offered/s", results.offeredRate], ["completed/s", results.completedRate],
      ["errors %", results.errorPercent], ["p50 ms", percentile("total", 50)], ["p90 ms", percentile("total", 90)], ["p99 ms", results.p99Ms],
    ]));
    if (report.distorted.length > MOST_CAUTIONS) draw.head.append(element("p", { class: "caution" }, `${report.distorted.length} stretches are not to be trusted; the first ${MOST_CAUTIONS} are:`));
    for (const one of report.distorted.slice(0, MOST_CAUTIONS))
      draw.head.append(element("p", { class: "caution" }, `Not to be trusted, ${figure(one.fromSeconds)} s to ${figure(one.toSeconds)} s: ${one.message}`));
  }

  function percentile(name, wanted) {
    const step = report.results?.steps?.find((one) => one.step === name);
    return step && percentileOf(step, wanted);
  }

  // A percentile without a field of its own is in the list of intervals.
  function percentileOf(step, wanted) {
    return step[`p${wanted}Ms`] ?? step.intervals?.find((one) => one.percentile === wanted)?.ms;
  }

  // Charts over time share one axis, on which the warm-up, a pause of the directory and what is distorted are marked.
  function timeDomain() {
    const courses = [report.overTime, other?.overTime].filter(Boolean).flatMap((course) => [course.intervals, course.server]);
    return [0, d3.max(courses.filter((points) => points.length), (points) => points[points.length - 1].atSeconds)];
  }

  function timeMarks(domain) {
    const marks = [Plot.rect(report.distorted, { x1: "fromSeconds", x2: "toSeconds", fill: "var(--distorted)", fillOpacity: 0.18 }), Plot.ruleY([0], { stroke: "var(--line)" })];
    const directory = report.results?.target?.directory;
    if (!absent(directory?.pausedFromSeconds))
      marks.push(Plot.rect([directory], { x1: "pausedFromSeconds", x2: "pausedToSeconds", fill: "var(--quiet)", fillOpacity: 0.15 }),
        Plot.text([directory.pausedFromSeconds], { x: (at) => at, text: () => "slapd paused", frameAnchor: "bottom-left", dx: 4, dy: -4, fill: "var(--quiet)" }));
    if (report.warmUpSeconds > 0 && report.warmUpSeconds < domain[1])
      marks.push(Plot.ruleX([report.warmUpSeconds], { stroke: "var(--quiet)", strokeDasharray: "3 3" }),
        Plot.text([report.warmUpSeconds], { x: (at) => at, text: () => "measured from here", frameAnchor: "top-left", dx: 4, fill: "var(--quiet)" }));
    return marks;
  }

  // A line is [name, its intervals, value of one, whether it is the other run's]: that is thinner, and fainter.
  function lines(shown) {
    return shown.map(([, intervals, value, isOther], index) => Plot.lineY(intervals, {
      x: "atSeconds", y: (one) => value(one) ?? NaN, stroke: colours[index], strokeWidth: isOther ? 1.2 : 1.8, strokeOpacity: isOther ? 0.75 : 1, strokeDasharray: dashes[index],
    }));
  }

  function timeChart(label, description, unit, series, { intervals = report.overTime.intervals, others = other?.overTime?.intervals ?? [], scale = {} } = {}) {
    const shown = [
      ...series.map(([name, value]) => [name, intervals, value, false]),
      ...series.map(([name, value]) => [`${name} of ${other?.test.name}`, others, value, true]),
    ].filter(([, points, value]) => points.some((one) => !absent(value(one))));
    if (!shown.some(([, , , isOther]) => !isOther)) return null;
    const domain = timeDomain();
    const rows = (isOther) => {
      const [first] = shown.filter((one) => one[3] === isOther);
      if (!first) return null;
      const name = isOther ? `${label} of ${other.test.name}` : label;
      return table(name, [["to second", (one) => one.atSeconds, true],
        ...shown.filter((one) => one[3] === isOther).map(([title, , value]) => [`${title} (${unit})`, value, true])], first[1], { tall: true, digits: exact });
    };
    const theirs = rows(true);
    return chart(label, description, {
      height: 220, x: { label: "seconds since the start of the load", domain }, y: { label: unit, grid: true, ...scale },
      marks: [...timeMarks(domain), ...lines(shown)],
    }, shown.map(([name], index) => [name, colours[index], dashes[index]]), theirs ? element("div", {}, rows(false), theirs) : rows(false));
  }

  function overTime() {
    if (!report.overTime?.intervals.length) return;
    const intervals = report.overTime.intervals;
    const outcomes = [...new Set(intervals.flatMap((one) => Object.keys(one.failedPercent)))];
    section("over-time", "Over time",
      timeChart("Rate", "Iterations begun and completed in each second.", "per second", [["completed", (one) => one.completedRate], ["begun", (one) => one.begunRate]]),
      timeChart("Latency", "Whole iterations that succeeded, by when they ended.", "ms", [["p50", (one) => one.p50Ms], ["p90", (one) => one.p90Ms], ["p99", (one) => one.p99Ms]]),
      outcomes.length
        ? timeChart("Errors", "The share of the iterations that ended, by how they failed.", "% of iterations", outcomes.map((name) => [name, (one) => one.failedPercent[name] ?? (absent(one.errorPercent) ? null : 0)]), { others: [] })
        : element("p", { class: "quiet" }, "No iteration failed."),
      timeChart("Under way", "Iterations under way, users, and sessions held.", "at once", [["in flight", "inFlight"], ["users", "users"], ["sessions held", "held"]]
        .filter(([, name]) => intervals.some((one) => one[name])).map(([title, name]) => [title, (one) => one[name]]), { others: [] }),
      timeChart("CPU of the server", "Cores that the managed target used.", "cores", [["cores", (one) => one.cores]],
        { intervals: report.overTime.server, others: other?.overTime?.server ?? [], scale: { zero: true } }),
      stealChart());
  }

  // Steal of both sides: the workers' machines tell in each report, the target's only as often as it is asked.
  function stealChart() {
    const { intervals, server } = report.overTime;
    const lines = [["workers' machines", intervals], ["server's machine", server]].filter(([, points]) => points.some((one) => !absent(one.stolenPercent)));
    if (!lines.length) return null;
    const domain = timeDomain();
    return chart("CPU stolen", "The share of the machines' CPU time that their hosts gave to others.", {
      height: 180, x: { label: "seconds since the start of the load", domain }, y: { label: "% of CPU time", grid: true, zero: true },
      marks: [...timeMarks(domain), ...lines.map(([, points], index) => Plot.lineY(points, { x: "atSeconds", y: (one) => one.stolenPercent ?? NaN, stroke: colours[index], strokeWidth: 1.8, strokeDasharray: dashes[index] }))],
    }, lines.map(([name], index) => [name, colours[index], dashes[index]]),
    element("div", {}, ...lines.map(([name, points]) => table(`CPU stolen, ${name}`, [["to second", (one) => one.atSeconds, true], ["%", (one) => one.stolenPercent, true]], points, { tall: true, digits: exact }))));
  }

  // HdrHistogram's axis: the logarithm of what lies above a percentile.
  const nines = (percent) => -Math.log10(1 - percent / 100);

  function distribution() {
    const all = report.distributions;
    if (!all.length) return;
    const theirs = (other?.distributions ?? []).filter(({ step }) => step === "total" || step === "login").map((one) => ({ ...one, name: `${one.step} of ${other.test.name}` }));
    const shown = [...all.slice(0, theirs.length ? 2 : 4).map((one) => ({ ...one, name: one.step })), ...theirs];
    const rows = shown.flatMap(({ name, points, statedTo }) => points.filter(([percent, ms]) => percent < 100 && ms > 0)
      .map(([percent, ms]) => ({ name, percent, ms, at: nines(percent), stated: percent <= statedTo })));
    if (!rows.length) return;
    const ticks = [0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999].filter((percent) => nines(percent) <= d3.max(rows, (row) => row.at));
    const marks = shown.flatMap(({ name }, index) => {
      const own = rows.filter((row) => row.name === name);
      const beyond = own.filter((row, at) => !row.stated || (own[at + 1] && !own[at + 1].stated));
      return [Plot.lineY(own.filter((row) => row.stated), { x: "at", y: "ms", stroke: colours[index], strokeWidth: 2, strokeDasharray: dashes[index] }),
        Plot.lineY(beyond, { x: "at", y: "ms", stroke: colours[index], strokeWidth: 1, strokeOpacity: 0.45 })];
    });
    section("distribution", "Latency by percentile", chart("Distribution", "The percentile's axis is logarithmic, as HdrHistogram plots it. Faint: too few samples to state a percentile.", {
      height: 300, x: { label: "percentile", ticks: ticks.map(nines), tickFormat: (at) => String(ticks.find((percent) => nines(percent) === at)), grid: true },
      y: { type: "log", label: "ms", grid: true, tickFormat: (ms) => figure(ms) }, marks,
    }, shown.map(({ name, count }, index) => [`${name} (${figure(count)} samples)`, colours[index], dashes[index]]),
    element("div", {}, ...[...all.map((one) => ({ ...one, name: one.step })), ...theirs].map(({ name, points, statedTo }) => element("div", {}, element("h3", {}, name), table(`Distribution of ${name}`, [
      ["percentile", ([percent]) => percent, true], ["ms", ([, ms]) => ms, true], ["note", ([percent]) => (percent > statedTo && percent < 100 ? "too few samples" : percent === 100 ? "maximum" : "")],
    ], points, { tall: true, digits: exact }))))));
  }

  function steps() {
    const rows = report.results?.steps ?? [];
    if (!rows.length) return;
    const of = (wanted) => (step) => percentileOf(step, wanted);
    const wide = report.waterfall;
    section("steps", "Steps", wide.length ? chart("An iteration's parts", "Each bar is the mean of one part, and begins where the one before ends. A first byte is a part of the read below it.", {
      height: 40 + 22 * wide.length, marginLeft: 150, marginRight: 70, x: { label: "ms", grid: true }, y: { label: null, domain: wide.map((one) => one.step) },
      marks: [Plot.barX(wide, { x1: "beginMs", x2: (one) => one.beginMs + (one.meanMs ?? 0), y: "step", fill: "var(--c1)", insetTop: 3, insetBottom: 3 }),
        Plot.text(wide, { x: (one) => one.beginMs + (one.meanMs ?? 0), y: "step", text: (one) => `${figure(one.meanMs)} ms`, textAnchor: "start", dx: 5, fill: "currentColor" }), Plot.ruleX([0], { stroke: "var(--line)" })],
    }, [], table("An iteration's parts", [["part", (one) => one.step], ["begins ms", (one) => one.beginMs, true], ["mean ms", (one) => one.meanMs, true], ["p50 ms", (one) => one.p50Ms, true], ["p99 ms", (one) => one.p99Ms, true], ["count", (one) => one.count, true]], wide, { digits: exact })) : null,
    element("h3", {}, "All steps"),
    table("All steps", [["step", (one) => one.step], ["count", (one) => one.count, true], ["failures", (one) => one.failures ?? 0, true], ["per second", (one) => one.rate, true], ["p50 ms", of(50), true], ["p90 ms", of(90), true], ["p99 ms", of(99), true], ["max ms", (one) => one.maxMs, true]], rows));
  }

  function figuresOfRun() {
    if (!report.figures.length) return;
    section("figures", "Figures", table("Figures", [["figure", (one) => one.figure], ["value", (one) => one.value, true], ["95 % interval", (one) => bounds(one)], ["unit", (one) => one.unit]], report.figures, { digits: exact }));
  }

  function errors() {
    const rows = report.results?.errors ?? [];
    if (!rows.length) return;
    section("errors", "Errors", table("Errors", [["step", (one) => one.step], ["outcome", (one) => one.outcome], ["count", (one) => one.count, true], ["what was said first", (one) => one.firstMessage]], rows));
  }

  function users() {
    const found = report.results?.users;
    if (!found) return;
    const failing = (found.mostFailures ?? []).map((one) => ({ ...one, worst: "most failures" }));
    const worst = [...failing, ...(found.slowest ?? []).map((one) => ({ ...one, worst: "slowest login" }))];
    section("users", "Users", figures([
      ["users", found.population], ["took part", found.tookPart], ["logins of a user, least", found.leastLogins], ["most", found.mostLogins], ["users with failures", found.failed ?? 0],
    ]), worst.length ? table("The worst users", [["user", (one) => one.name ?? `no. ${one.place}`], ["by", (one) => one.worst], ["logins", (one) => one.logins, true], ["failures", (one) => one.failures ?? 0, true], ["slowest login ms", (one) => one.slowestLoginMs, true]], worst) : null);
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
    flat.push(...Object.entries(seen?.directory ?? {}).map(([name, value]) => [`directory: ${words(name)}`, value]));
    section("server", "The server", used ? figures([
      ["cores used", used.cores], ["cores allowed", used.coresLimit], ["CPU stolen %", used.stolenPercent], ["sessions", used.sessions], ["memory", bytes(used.memoryBytes)], ["memory at most", bytes(used.memoryPeakBytes)],
      ["dropped by MaxStartups", used.droppedIsLowerBound ? `${used.droppedMaxStartups} or more` : used.droppedMaxStartups], ["dropped by a penalty", used.droppedIsLowerBound ? `${used.droppedPenalty} or more` : used.droppedPenalty],
    ]) : null, flat.length ? table("What the server counted", [["figure", ([name]) => name], ["value", ([, value]) => exact(value), true]], flat) : null,
    results?.maxStartups ? element("p", {}, results.maxStartups.message) : null);
  }

  function inPath(part) {
    const found = report.results?.[part];
    if (!found) return;
    const title = `The ${part} in the path`;
    section(part, title, element("p", { class: "quiet" }, "Of its processes, from the start of the load to its end. The server's figures do not contain it."),
      table(title, [["figure", ([name]) => words(name)], ["value", ([, value]) => value, true]],
        Object.entries(found).map(([name, value]) => [name, name.endsWith("Bytes") ? bytes(value) : exact(value)])));
  }

  function generator() {
    const found = report.results?.generator;
    if (!found) return;
    section("generator", "The load generator", element("p", { class: "quiet" }, "Whether the numbers can be trusted: each figure is the worst worker's."),
      table("The load generator", [["figure", ([name]) => words(name)], ["value", ([, value]) => value, true]], Object.entries(found), { digits: exact }));
  }

  function rest() {
    const scope = report.results?.scope ?? [];
    if (scope.length) section("scope", "What was measured", ...scope.map((one) => element("p", {}, one)));
    draw.negotiated([], report.results?.negotiated ?? []);
    draw.finish(report);
  }

  // The figures of this run beside those of the other one.
  function beside() {
    if (!other) return;
    const { test, verdict, difference } = other;
    const said = (one) => (absent(one.apart) ? null : one.apart ? "apart" : "overlap");
    section("beside", `Beside ${test.name}`,
      element("p", {}, `${test.name}${test.namespace ? ` in ${test.namespace}` : ""}: ${verdict.word ?? "no verdict"}${verdict.reason ? ` (${verdict.reason})` : ""}${verdict.completionTime ? `, ${verdict.completionTime}` : ""}.`),
      difference ? element("p", { class: "caution" }, `The two did not measure the same: ${difference}`) : null,
      element("p", { class: "quiet" }, "An interval covers the chance within one run, not the differences from one run to the next. sshload compare measures that."),
      table("Figures of both runs", [["figure", (one) => one.figure], ["this run", (one) => one.here.value, true], ["95 % interval", (one) => bounds(one.here)], [test.name, (one) => one.there.value, true], ["95 % interval", (one) => bounds(one.there)], ["ratio", (one) => one.ratio, true], ["intervals", said]], other.figures));
  }

  head();
  beside();
  search();
  overTime();
  distribution();
  steps();
  figuresOfRun();
  errors();
  users();
  server();
  inPath("proxy");
  inPath("gateway");
  generator();
  rest();
})();
