// Draws the report of a sweep from the document that stands in the page.
"use strict";
(() => {
  const { report, colours, dashes, absent, table, section, chart, bounds, element } = draw;
  const { field } = report.sweep;
  const points = report.points.map((one) => ({ ...one, at: report.isNumeric ? one.value : String(one.value) }));
  const x = { label: field, inset: 20, ...(report.isNumeric ? {} : { type: "point", domain: [...new Set(points.map((one) => one.at))] }) };

  // A line through the values that were measured, each with its interval.
  function curve(label, description, unit, lines) {
    const shown = lines.filter(([, of]) => points.some((one) => !absent(of(one)?.value)));
    if (!shown.length) return null;
    return chart(label, description, {
      height: 280, x, y: { label: unit, grid: true, zero: true }, marginLeft: 70,
      marks: shown.flatMap(([, of], index) => {
        const own = points.filter((one) => !absent(of(one)?.value));
        const style = { x: "at", stroke: colours[index] };
        return [Plot.ruleX(own.filter((one) => !absent(of(one).low) && !absent(of(one).high)), { ...style, y1: (one) => of(one).low, y2: (one) => of(one).high, strokeWidth: 5, strokeOpacity: 0.35 }),
          Plot.line(own, { ...style, y: (one) => of(one).value, strokeWidth: 1.8, strokeDasharray: dashes[index] }),
          Plot.dot(own, { ...style, y: (one) => of(one).value, r: 4, fill: (one) => (one.verdict.passed === false ? "var(--back)" : colours[index]), strokeWidth: 2 })];
      }),
    }, shown.map(([name], index) => [name, colours[index], dashes[index]]), null);
  }

  draw.verdict(report.sweep, report.verdict);
  const verdictOf = ({ verdict }) => element("strong", { class: draw.mark(verdict.passed)[0] }, verdict.word ?? "no verdict");
  const plain = (of) => (one) => (absent(of(one)) ? null : { value: of(one) });
  section("curve", "The curve",
    element("p", { class: "quiet" }, "A hollow dot is a value at which the run failed. A broad bar is the 95 % interval of the one run."),
    curve("Rate", "Iterations completed per second, and asked for.", "per second", [["completed", (one) => one.completedRate], ["offered", plain((one) => one.offeredRate)]]),
    curve("Latency", "The whole iteration, successes only.", "ms", [["p50", (one) => one.p50Ms], ["p90", (one) => one.p90Ms], ["p99", (one) => one.p99Ms]]),
    points.some((one) => one.errorPercent > 0) ? curve("Errors", "The share of failed iterations.", "% of iterations", [["errors", plain((one) => one.errorPercent)]]) : element("p", { class: "quiet" }, "No iteration failed in the runs that were measured."));
  section("values", "Values", table("Values", [
    [field, (one) => String(one.value)], ["verdict", verdictOf], ["completed/s", (one) => one.completedRate?.value, true], ["95 % interval", (one) => bounds(one.completedRate)],
    ["p50 ms", (one) => one.p50Ms?.value, true], ["95 % interval", (one) => bounds(one.p50Ms)], ["p99 ms", (one) => one.p99Ms?.value, true], ["95 % interval", (one) => bounds(one.p99Ms)],
    ["errors %", (one) => one.errorPercent, true], ["capacity", (one) => one.capacity], ["test", (one) => one.test], ["why", (one) => one.verdict.message || one.verdict.reason],
  ], points));
  draw.finish(report);
})();
