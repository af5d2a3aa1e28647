// Charts: each container names a JSON spec; a chart type turns it into ECharts options. Money stays text until it becomes a length.
import { BarChart, CustomChart, HeatmapChart, LineChart, SankeyChart, ScatterChart, TreemapChart } from "echarts/charts";
import { AriaComponent, DataZoomComponent, GridComponent, LegendComponent, MarkLineComponent, ToolboxComponent, TooltipComponent, VisualMapComponent } from "echarts/components";
import { init, use } from "echarts/core";
import { LabelLayout } from "echarts/features";
import { CanvasRenderer } from "echarts/renderers";
import { chartTypes } from "./chart_types.js";
import { isDark, palette } from "./colors.js";

use([
  ...[BarChart, CustomChart, HeatmapChart, LineChart, SankeyChart, ScatterChart, TreemapChart],
  ...[AriaComponent, DataZoomComponent, GridComponent, LegendComponent, MarkLineComponent, ToolboxComponent, TooltipComponent, VisualMapComponent],
  ...[CanvasRenderer, LabelLayout],
]);

const drawn = new Map();
const resizes = new ResizeObserver((entries) => {
  for (const { target } of entries) drawn.get(target)?.resize();
});

function commonOptions(colors) {
  return {
    animation: false,
    color: colors.series,
    textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, fontSize: 12, color: colors.text },
    aria: { enabled: false },
    tooltip: {
      renderMode: "richText",
      confine: true,
      backgroundColor: colors.surface,
      borderColor: colors.line,
      borderWidth: 1,
      padding: [8, 10],
      textStyle: { color: colors.text, fontSize: 12, lineHeight: 17 },
      axisPointer: { type: "shadow", shadowStyle: { color: isDark() ? "rgba(255,255,255,0.06)" : "rgba(0,0,0,0.05)" } },
    },
  };
}

function render(container, chart) {
  const spec = JSON.parse(document.getElementById(container.dataset.source).textContent);
  const colors = palette();
  const options = chartTypes[spec.kind](spec, colors, { width: container.clientWidth, height: container.clientHeight });
  const common = commonOptions(colors);
  chart.setOption({ ...common, ...options, tooltip: { ...common.tooltip, ...options.tooltip } }, true);
  return spec;
}

/** Draw one chart; a click on anything with a link opens it. */
export function draw(container) {
  const chart = init(container, null, { renderer: "canvas" });
  drawn.set(container, chart);
  container.dataset.drawn = "yes";
  const spec = render(container, chart);
  chart.on("click", (event) => {
    if (spec.days) return;
    const link = event.data?.link ?? spec.links?.[event.dataIndex];
    if (typeof link === "string") open(link);
  });
  isolateOnLegendClick(chart);
  if (spec.days) selectDays(chart, spec.days, spec.links);
  foldTable(container);
  resizes.observe(container);
}

/** Close the table below a chart, unless it is meant to stay open. */
function foldTable(container) {
  const table = container.closest(".panel")?.querySelector("details.data");
  if (table && !("keepOpen" in table.dataset)) table.open = false;
}

function open(link) {
  const anchor = Object.assign(document.createElement("a"), { href: link, hidden: true });
  document.querySelector("#page").append(anchor);
  anchor.click();
}

/** A click on a legend entry shows that series alone, a second click all of them; with Ctrl it toggles that series. */
function isolateOnLegendClick(chart) {
  let withModifier = false;
  chart.getZr().on("mousedown", (event) => (withModifier = event.event.ctrlKey || event.event.metaKey));
  chart.on("legendselectchanged", ({ name, selected }) => {
    if (withModifier) return;
    const others = Object.keys(selected).filter((other) => other !== name);
    const showAll = !selected[name] && others.every((other) => !selected[other]);
    for (const one of [name, ...others]) chart.dispatchAction({ type: showAll || one === name ? "legendSelect" : "legendUnSelect", name: one });
  });
}

/** Dragging across days selects them as the period; a click anywhere above a day follows its link, or selects that day. */
function selectDays(chart, days, links) {
  chart.dispatchAction({ type: "takeGlobalCursor", key: "dataZoomSelect", dataZoomSelectActive: true });
  chart.on("datazoom", (event) => {
    const { startValue, endValue } = event.batch?.[0] ?? event;
    if (startValue !== undefined) openPeriod(days, startValue, endValue);
  });
  chart.getZr().on("click", ({ offsetX, offsetY }) => {
    if (!chart.containPixel("grid", [offsetX, offsetY]) || (days.length < 2 && !links)) return;
    const [index] = chart.convertFromPixel("grid", [offsetX, offsetY]);
    if (links?.[index]) open(links[index]);
    else openPeriod(days, index, index);
  });
}

function openPeriod(days, first, last) {
  const url = new URL(location.href);
  url.searchParams.set("from", days[Math.max(first, 0)]);
  url.searchParams.set("to", days[Math.min(last, days.length - 1)]);
  open(url.href);
}

/** Dispose of charts that are no longer on the page. */
export function disposeRemoved() {
  for (const [container, chart] of drawn) {
    if (container.isConnected) continue;
    resizes.unobserve(container);
    chart.dispose();
    drawn.delete(container);
  }
}

export function redrawAll() {
  for (const [container, chart] of drawn) render(container, chart);
}

export function toPng(container, done) {
  const canvas = drawn.get(container)?.renderToCanvas({ pixelRatio: 2, backgroundColor: palette().surface });
  canvas?.toBlob(done, "image/png");
}
