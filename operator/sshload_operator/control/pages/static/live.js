// Shows a run that is under way, by the events that the operator sends. Texts reach the page as text nodes only.
"use strict";
(() => {
  const by = (id) => document.getElementById(id);
  const figure = (value) => (value === undefined || value === null ? "-" : typeof value === "number" ? value.toLocaleString("en", { maximumSignificantDigits: 4 }) : String(value));
  const SHOWN = [["stage", "stage"], ["elapsedSeconds", "seconds"], ["remainingSeconds", "seconds left"], ["workersConnected", "workers"], ["offeredRate", "offered/s"], ["completedRate", "completed/s"],
    ["p50Ms", "p50 ms"], ["recentP50Ms", "p50 ms just now"], ["p99Ms", "p99 ms"], ["errorPercent", "errors %"], ["iterations", "iterations"], ["failures", "failures"], ["inFlight", "in flight"], ["held", "sessions held"]];
  const CHARTS = [[1, "Completed per second"], [2, "Median in ms, of what was reported last"], [3, "Errors in percent, so far"]];
  const SVG = "http://www.w3.org/2000/svg";
  const words = (name) => name.replace(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`);
  let points = [];

  function element(name, ...children) {
    const made = document.createElement(name);
    made.append(...children);
    return made;
  }

  // The stretches of points that have a figure: where there was none, the line has a gap.
  function stretches(column) {
    const found = [[]];
    for (const point of points) {
      if (point[column] !== null) found[found.length - 1].push(point);
      else if (found[found.length - 1].length) found.push([]);
    }
    return found.filter((stretch) => stretch.length);
  }

  function chart([column, title]) {
    const known = points.filter((point) => point[column] !== null);
    const most = Math.max(...known.map((point) => point[column]), 0);
    const last = known.length ? known[known.length - 1] : null;
    const svg = document.createElementNS(SVG, "svg");
    const until = points.length ? points[points.length - 1][0] : 1;
    svg.setAttribute("viewBox", "0 0 600 100");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `${title}: ${last ? figure(last[column]) : "nothing yet"}, at most ${figure(most)}. A table has the course.`);
    svg.append(...stretches(column).map((stretch) => {
      const line = document.createElementNS(SVG, "polyline");
      line.setAttribute("points", stretch.map((point) => `${(600 * point[0]) / (until || 1)},${most ? 98 - (96 * point[column]) / most : 98}`).join(" "));
      return line;
    }));
    return element("figure", element("figcaption", `${title}: ${last ? figure(last[column]) : "-"} (0 to ${figure(most)})`), svg);
  }

  function show(standing) {
    by("state").textContent = standing.phase;
    if (by("message").textContent !== standing.message) by("message").textContent = standing.message;
    const searched = Object.entries(standing.search ?? {}).filter(([, value]) => typeof value !== "object").map(([name, value]) => [`search: ${words(name)}`, value]);
    const shown = [...SHOWN.filter(([name]) => standing[name] !== undefined).map(([name, title]) => [title, standing[name]]), ...searched];
    by("figures").replaceChildren(...shown.map(([title, value]) => element("div", element("dt", title), element("dd", figure(value)))));
    by("charts").replaceChildren(...(points.length ? CHARTS.map(chart) : []));
    by("course").replaceChildren(...points.map((point) => element("tr", ...point.map((value) => element("td", figure(value))))));
    document.documentElement.dataset.rendered = "yes";
  }

  const source = new EventSource(`${location.pathname}/events`);
  source.addEventListener("open", () => { by("connection").textContent = "live"; });
  source.addEventListener("error", () => { by("connection").textContent = source.readyState === EventSource.CLOSED ? "the connection is closed: load the page again" : "the connection is lost: trying again"; });
  source.addEventListener("whole", (event) => { const found = JSON.parse(event.data); points = found.points; show(found.standing); });
  source.addEventListener("update", (event) => {
    const found = JSON.parse(event.data);
    if (found.point && (!points.length || found.point[0] > points[points.length - 1][0])) points.push(found.point);
    show(found.standing);
  });
  source.addEventListener("end", () => { source.close(); by("connection").textContent = "the run is over"; location.reload(); });
})();
