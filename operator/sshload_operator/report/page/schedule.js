// Draws the history of a schedule from the document that stands in the page.
"use strict";
(() => {
  const { report, colours, dashes, absent, table, section, chart, bounds, element } = draw;
  const time = (one) => new Date(one.time);
  const verdicts = [[true, "var(--passed)", "circle", "passed"], [false, "var(--failed)", "times", "failed"], [null, "var(--unknown)", "triangle", "cannot be said"]];
  const x = { label: "scheduled for", type: "utc" };

  // Lines over time; each run is a sign of its verdict.
  function history(label, description, unit, lines) {
    const shown = lines.filter(([, of]) => report.runs.some((one) => !absent(of(one)?.value)));
    if (!shown.length) return null;
    return chart(label, description, {
      height: 250, x, y: { label: unit, grid: true, zero: true }, inset: 10, marginLeft: 70,
      marks: shown.flatMap(([, of], index) => {
        const own = report.runs.filter((one) => !absent(of(one)?.value));
        const y = (one) => of(one).value;
        return [Plot.ruleX(own.filter((one) => !absent(of(one).low) && !absent(of(one).high)), { x: time, y1: (one) => of(one).low, y2: (one) => of(one).high, stroke: colours[index], strokeWidth: 4, strokeOpacity: 0.35 }),
          Plot.line(own, { x: time, y, stroke: colours[index], strokeWidth: 1.6, strokeDasharray: dashes[index] }),
          ...verdicts.map(([passed, colour, symbol]) => Plot.dot(own.filter((one) => one.passed === passed), { x: time, y, symbol, stroke: colour, fill: passed ? colour : "none", r: 4.5, strokeWidth: 2 }))];
      }),
    }, shown.map(([name], index) => [name, colours[index], dashes[index]]), null);
  }

  function drift() {
    const known = report.drift ?? [];
    if (!known.length) return;
    const figures = [...new Set(known.map((one) => one.figure))].slice(0, colours.length);
    section("drift", "Drift against the baseline", chart("Drift", "How far each run was from its baseline, in percent, with its 95 % interval. The dashed lines are the limits.", {
      height: 260, x, y: { label: "% from the baseline", grid: true }, inset: 10, marginLeft: 70,
      marks: [Plot.ruleY([0], { stroke: "currentColor" }), ...figures.flatMap((name, index) => {
        const own = known.filter((one) => one.figure === name);
        return [Plot.line(own.filter((one) => !absent(one.limit)), { x: time, y: "limit", stroke: colours[index], strokeDasharray: "3 4", strokeOpacity: 0.7 }),
          Plot.ruleX(own.filter((one) => !absent(one.low) && !absent(one.high)), { x: time, y1: "low", y2: "high", stroke: colours[index], strokeWidth: 4, strokeOpacity: 0.35 }),
          Plot.line(own, { x: time, y: "percent", stroke: colours[index], strokeDasharray: dashes[index], strokeWidth: 1.6 }),
          ...verdicts.map(([passed, colour, symbol]) => Plot.dot(own.filter((one) => (one.passed ?? null) === passed), { x: time, y: "percent", symbol, stroke: colour, fill: passed ? colour : "none", r: 4.5, strokeWidth: 2 }))];
      })],
    }, figures.map((name, index) => [name, colours[index], dashes[index]]), null),
    table("Drift", [["scheduled for", (one) => one.time], ["test", (one) => draw.test(one.test)], ["baseline", (one) => draw.test(one.baseline)], ["figure", (one) => one.figure], ["% from the baseline", (one) => one.percent, true],
      ["95 % interval", bounds], ["limit %", (one) => one.limit, true], ["verdict", (one) => { const [name, text] = draw.mark(one.passed); return element("strong", { class: name }, text); }]], known, { tall: true }));
  }

  draw.verdict(report.schedule, report.verdict, report.calendar, report.nextScheduleTime && `next ${report.nextScheduleTime}`, report.active.length && `under way: ${report.active.join(", ")}`);
  if (report.runs.length)
    section("history", "Results over time",
      element("p", { class: "quiet" }, "● passed · × failed · △ cannot be said"),
      history("Capacity", "The highest load at which every threshold held.", "capacity", [["capacity", (one) => (absent(one.capacity) ? null : { value: one.capacity })]]),
      history("Latency", "The whole iteration, successes only.", "ms", [["p50", (one) => one.p50Ms], ["p99", (one) => one.p99Ms]]),
      history("Rate", "Iterations completed per second.", "per second", [["completed", (one) => one.completedRate]]));
  drift();
  section("runs", "Runs", table("Runs", [["scheduled for", (one) => one.time], ["test", (one) => draw.test(one.test)], ["verdict", (one) => element("strong", { class: draw.mark(one.passed)[0] }, one.verdict ?? "no verdict")], ["capacity", (one) => one.capacityInWords],
    ["completed/s", (one) => one.completedRate?.value, true], ["p50 ms", (one) => one.p50Ms?.value, true], ["p99 ms", (one) => one.p99Ms?.value, true], ["95 % interval", (one) => bounds(one.p99Ms)], ["errors %", (one) => one.errorPercent, true], ["why", (one) => one.message || one.reason]],
  [...report.runs].reverse(), { tall: true }));
  draw.finish(report);
})();
