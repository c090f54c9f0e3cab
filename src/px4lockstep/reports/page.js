"use strict";
// Draws the charts of the page from its data, and adds control by keyboard and buttons.
(() => {
  const drawn = JSON.parse(document.getElementById("chart-data").textContent);
  const options = { responsive: true, displaylogo: false, scrollZoom: false };

  function move(plot, act) {
    const axis = plot._fullLayout.xaxis;
    const [low, high] = axis.range.map(Number);
    const middle = (low + high) / 2, half = (high - low) / 2;
    const [first, last] = plot.wholeRange;
    const ranges = {
      "in": [middle - half / 2, middle + half / 2],
      "out": [Math.max(first, middle - 2 * half), Math.min(last, middle + 2 * half)],
      "left": [low - half / 2, high - half / 2],
      "right": [low + half / 2, high + half / 2],
      "all": [first, last],
      "focus": plot.focusRange,
    };
    Plotly.relayout(plot, { "xaxis.range": ranges[act] });
  }

  const keys = { "+": "in", "=": "in", "-": "out", "ArrowLeft": "left", "ArrowRight": "right", "0": "all", "Home": "all" };
  for (const chart of drawn) {
    const figure = document.getElementById(chart.id);
    const plot = figure.querySelector(".plot");
    Plotly.newPlot(plot, chart.data, chart.layout, options).then(() => {
      if (!chart.controls) return;
      plot.focusRange = chart.focus;
      plot.wholeRange = plot._fullLayout.xaxis.range.map(Number);
      figure.querySelectorAll("button[data-act]").forEach((button) =>
        button.addEventListener("click", () => move(plot, button.dataset.act)));
      plot.addEventListener("keydown", (event) => {
        if (keys[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) {
          event.preventDefault();
          move(plot, keys[event.key]);
        }
      });
    });
  }
  document.documentElement.dataset.ready = "yes";
})();
