// Draws the report of a comparison from the document that stands in the page.
"use strict";
(() => {
  const { report, colours, dashes, absent, figure, exact, element, table, section, chart, bounds } = draw;
  const [first, ...others] = report.variants.map((one) => one.name);
  const all = report.figures ?? [];
  const tests = report.tests ?? [];
  const MOST_ROWS = 30;
  const MOST_LINES = 9;
  const effects = {
    better: ["var(--passed)", "passed", "circle", "better"],
    worse: ["var(--failed)", "failed", "times", "worse"],
    none: ["var(--quiet)", "quiet", "square", "no difference"],
    unknown: ["var(--unknown)", "unknown", "diamond", "no interval"],
  };
  const of = (one, variant) => one.variants.find((found) => found.variant === variant);
  const effectText = (one) => (one ? element("strong", { class: effects[one.effect][1] }, effects[one.effect][3]) : null);

  function head() {
    draw.verdict(report.comparison, report.verdict, report.phase !== "Finished" && report.phase, report.progress && `${report.progress} tests`);
    if (!others.length) return;
    draw.head.append(element("h2", { class: "plain" }, "Variants"), table("Variants", [
      ["variant", (one) => one.name], ...(report.swept ? [[report.swept, (one) => one.value]] : []), ["tests over", (one) => one.tests, true], ["measured", (one) => one.measured, true],
      ["verdicts", (one) => Object.entries(one.verdicts).map(([word, count]) => `${count} ${word}`).join(", ")],
      ["better", (one) => count(one, "better"), true], ["worse", (one) => count(one, "worse"), true], ["no difference", (one) => count(one, "none"), true],
    ], report.variants));
  }

  const count = ({ name }, effect) => (name === first ? null : all.filter((one) => of(one, name)?.effect === effect).length);

  // One row per figure: the ratio with its interval, and a line at what says no difference.
  function forest(label, description, variant, figures, { at, value, axis, type }) {
    const rows = figures.map((one) => ({ name: one.figure, ...of(one, variant) })).filter((one) => !absent(value(one)));
    if (!rows.length) return null;
    const shown = [...rows.filter((one) => one.effect !== "none"), ...rows.filter((one) => one.effect === "none")].slice(0, MOST_ROWS).map((one) => one.name);
    const drawn = rows.filter((one) => shown.includes(one.name));
    const [least, most] = d3.extent([at, ...drawn.flatMap((one) => [value(one), one.low, one.high])].filter((one) => !absent(one)));
    const [from, to] = least < most ? [least, most] : type === "log" ? [at / 1.1, at * 1.1] : [at - 1, at + 1];
    // A logarithmic scale of Plot's leaves out the labels of most ticks.
    const place = type === "log" ? (found) => Math.log(found) : (found) => found;
    const back = type === "log" ? (found) => Math.exp(found) : (found) => found;
    const placed = (of) => (one) => (absent(of(one)) ? NaN : place(of(one)));
    const marks = Object.entries(effects).flatMap(([effect, [colour, , symbol]]) => {
      const own = drawn.filter((one) => one.effect === effect);
      return [Plot.ruleY(own.filter((one) => !absent(one.low)), { y: "name", x1: placed((one) => one.low), x2: placed((one) => one.high), stroke: colour, strokeWidth: 2.2 }),
        Plot.dot(own, { x: placed(value), y: "name", symbol, r: 4.5, stroke: colour, fill: effect === "worse" ? "none" : colour, strokeWidth: 2 })];
    });
    const left = rows.length - drawn.length;
    return element("div", {}, chart(label, description, {
      height: 60 + 22 * drawn.length, marginLeft: 190, marginRight: 130, inset: 6, x: { domain: [place(from), place(to)], ticks: d3.ticks(from, to, 8).map(place), label: axis, grid: true, tickFormat: (found) => figure(back(found)) }, y: { label: null, domain: drawn.map((one) => one.name) },
      marks: [Plot.ruleX([place(at)], { stroke: "currentColor", strokeDasharray: "5 3" }), ...marks,
        Plot.text(drawn, { y: "name", frameAnchor: "right", dx: 120, textAnchor: "end", text: (one) => effects[one.effect][3], fill: (one) => effects[one.effect][0] })],
    }, [], null), left ? element("p", { class: "quiet" }, `The table below has ${left} figures more.`) : null);
  }

  const referenceOf = new Map(report.variants.map((one) => [one.name, one.reference]));

  function variantSection(variant, number) {
    const first = referenceOf.get(variant);
    const known = all.filter((one) => of(one, variant));
    const points = known.filter((one) => one.inPoints);
    section(`variant-${number}`, `${variant} beside ${first}`,
      element("p", { class: "quiet" }, "● better · × worse · ■ no difference · ◆ no interval. A bar is the 95 % interval over the rounds."),
      forest(`Ratios of ${variant}`, `${variant} to ${first}: 1 is as ${first}. Rates and capacities are better to the right, all else to the left.`, variant,
        known.filter((one) => !one.inPoints), { at: 1, value: (one) => one.ratio, axis: `ratio to ${first}`, type: "log" }),
      forest(`Differences of ${variant}`, `Percentage points: 0 is as ${first}. To the left is better.`, variant, points,
        { at: 0, value: (one) => one.points, axis: "percentage points", type: "linear" }),
      table(`Figures of ${variant}`, [
        ["figure", (one) => one.figure], [first, (one) => of(one, first)?.value, true], [variant, (one) => of(one, variant).value, true],
        ["ratio, or points", (one) => of(one, variant).points ?? of(one, variant).ratio, true], ["95 % interval", (one) => bounds(of(one, variant))],
        ["difference", (one) => effectText(of(one, variant))],
        ["difference in ms", (one) => of(one, variant).differenceMs, true], ["95 % interval in ms", (one) => bounds({ low: of(one, variant).lowMs, high: of(one, variant).highMs })],
        ["rounds", (one) => of(one, variant).rounds, true],
      ], known, { tall: true }));
  }

  // Of a sweep, the figures over the values of the field: a line through the medians, a dot for each round's test.
  function curve() {
    if (!report.swept) return;
    const valueOf = new Map(report.variants.map((one) => [one.name, report.isNumeric ? Number(one.value) : one.value]));
    const x = { label: report.swept, inset: 20, ...(report.isNumeric ? {} : { type: "point", domain: [...new Set(valueOf.values())] }) };
    const measured = (key) => {
      const found = all.find((one) => one.figure === key);
      return found ? found.variants.map((one) => ({ at: valueOf.get(one.variant), ...one })) : [];
    };
    const told = (key) => tests.filter((one) => !absent(one.figures[key])).map((one) => ({ at: valueOf.get(one.variant), value: one.figures[key] }));
    const lines = (label, description, unit, keys) => {
      const shown = keys.filter(([, key]) => measured(key).length);
      return shown.length ? chart(label, description, {
        height: 260, x, y: { label: unit, grid: true, zero: true }, marginLeft: 70,
        marks: shown.flatMap(([, key], index) => [Plot.line(measured(key), { x: "at", y: "value", stroke: colours[index], strokeWidth: 1.8, strokeDasharray: dashes[index] }),
          Plot.dot(told(key), { x: "at", y: "value", r: 3, stroke: colours[index] })]),
      }, shown.map(([name], index) => [name, colours[index], dashes[index]]), null) : null;
    };
    const ratios = measured("total.p50Ms").filter((one) => !absent(one.ratio));
    section("curve", "The curve",
      lines("Rate over the values", "Iterations completed per second: the median over the rounds, and each test.", "per second", [["completed", "completedRate"]]),
      lines("Latency over the values", "The whole iteration, successes only: the median over the rounds, and each test.", "ms", [["p50", "total.p50Ms"], ["p99", "total.p99Ms"]]),
      ratios.length ? chart("Ratio of the median latency", `To that at the first value: 1 is as at ${report.variants[0].value}. A bar is the 95 % interval over the rounds.`, {
        height: 240, x, y: { label: "ratio", grid: true }, marginLeft: 70,
        marks: [Plot.ruleY([1], { stroke: "currentColor", strokeDasharray: "5 3" }), Plot.ruleX(ratios.filter((one) => !absent(one.low)), { x: "at", y1: "low", y2: "high", stroke: colours[0], strokeWidth: 4, strokeOpacity: 0.4 }),
          Plot.line(ratios, { x: "at", y: "ratio", stroke: colours[0] }), Plot.dot(ratios, { x: "at", y: "ratio", r: 4, fill: colours[0] })],
      }, [], null) : null);
  }

  // The figure of which most rounds tell, by round: what drifts shows here, and cancels out of the ratios.
  function rounds() {
    if (!tests.length) return;
    const keys = [...new Set(tests.flatMap((one) => Object.keys(one.figures)))];
    const told = ["capacity", "total.p99Ms", "total.p90Ms", "total.p50Ms", "completedRate"].find((key) => keys.includes(key)) ?? keys[0];
    const names = [first, ...others].filter(Boolean).slice(0, MOST_LINES);
    const rows = tests.filter((one) => told && !absent(one.figures[told]));
    section("rounds", "Rounds",
      rows.length ? chart(`${told} by round`, "Each round tests every variant once.", {
        height: 240, inset: 10, x: { label: "round", ticks: [...new Set(rows.map((one) => one.round))].slice(0, 30), tickFormat: "d" }, y: { label: told, grid: true, zero: true },
        marks: names.flatMap((name, index) => [Plot.line(rows.filter((one) => one.variant === name), { x: "round", y: (one) => one.figures[told], stroke: colours[index], strokeDasharray: dashes[index], strokeWidth: 1.6 }),
          Plot.dot(rows.filter((one) => one.variant === name), { x: "round", y: (one) => one.figures[told], r: 3.5, fill: colours[index] })]),
      }, names.map((name, index) => [name, colours[index], dashes[index]]), null) : null,
      table("Tests of the rounds", [["round", (one) => one.round, true], ["variant", (one) => one.variant], ["test", (one) => draw.test(one.test)], ["verdict", (one) => one.verdict], ["why", (one) => one.problem || one.reason],
        ...keys.map((key) => [key, (one) => one.figures[key], true])], tests, { tall: true, digits: exact }));
  }

  head();
  curve();
  others.forEach(variantSection);
  rounds();
  draw.negotiated([["variant", (one) => one.variant]], report.variants.flatMap((one) => one.negotiated.map((agreed) => ({ variant: one.name, ...agreed }))));
  draw.finish(report);
})();
