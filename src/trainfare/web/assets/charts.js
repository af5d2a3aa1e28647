// Charts: each holder names a JSON of what to show; kinds turn that into what ECharts draws. Money stays text until it is a length.
import { BarChart, CustomChart, HeatmapChart, LineChart, SankeyChart, ScatterChart, TreemapChart } from "echarts/charts";
import { AriaComponent, DataZoomComponent, GridComponent, LegendComponent, MarkLineComponent, ToolboxComponent, TooltipComponent, VisualMapComponent } from "echarts/components";
import { init, use } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";
import { isDark, palette } from "./colours.js";
import { kinds } from "./kinds.js";

use([
  ...[BarChart, CustomChart, HeatmapChart, LineChart, SankeyChart, ScatterChart, TreemapChart],
  ...[AriaComponent, DataZoomComponent, GridComponent, LegendComponent, MarkLineComponent, ToolboxComponent, TooltipComponent, VisualMapComponent],
  CanvasRenderer,
]);

const drawn = new Map();
const watch = new ResizeObserver((entries) => {
  for (const { target } of entries) drawn.get(target)?.resize();
});

function common(colours) {
  return {
    animation: false,
    color: colours.series,
    textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, fontSize: 12, color: colours.text },
    aria: { enabled: false },
    tooltip: {
      renderMode: "richText",
      confine: true,
      backgroundColor: colours.surface,
      borderColor: colours.line,
      borderWidth: 1,
      padding: [8, 10],
      textStyle: { color: colours.text, fontSize: 12, lineHeight: 17 },
      axisPointer: { type: "shadow", shadowStyle: { color: isDark() ? "rgba(255,255,255,0.06)" : "rgba(0,0,0,0.05)" } },
    },
  };
}

function render(holder, chart) {
  const told = JSON.parse(document.getElementById(holder.dataset.of).textContent);
  const colours = palette();
  const option = kinds[told.kind](told, colours, { width: holder.clientWidth, height: holder.clientHeight });
  const base = common(colours);
  chart.setOption({ ...base, ...option, tooltip: { ...base.tooltip, ...option.tooltip } }, true);
  return told;
}

/** Draw one holder; a click on something that has an address goes there. */
export function draw(holder) {
  const chart = init(holder, null, { renderer: "canvas" });
  drawn.set(holder, chart);
  holder.dataset.drawn = "yes";
  const told = render(holder, chart);
  chart.on("click", (event) => {
    const link = event.data?.link ?? told.links?.[event.dataIndex];
    if (typeof link === "string") go(link);
  });
  isolate(chart);
  if (told.days) zoom(chart, told.days);
  fold(holder);
  watch.observe(holder);
}

/** The table under a chart is folded once the chart is there. */
function fold(holder) {
  const data = holder.closest(".panel")?.querySelector("details.data");
  if (data && !("kept" in data.dataset)) data.open = false;
}

function go(link) {
  const anchor = Object.assign(document.createElement("a"), { href: link, hidden: true });
  document.querySelector("#page").append(anchor);
  anchor.click();
}

/** A click in the legend shows one series alone, and again shows all; with Ctrl it hides or shows that one. */
function isolate(chart) {
  let held = false;
  chart.getZr().on("mousedown", (event) => (held = event.event.ctrlKey || event.event.metaKey));
  chart.on("legendselectchanged", ({ name, selected }) => {
    if (held) return;
    const others = Object.keys(selected).filter((one) => one !== name);
    const all = !selected[name] && others.every((one) => !selected[one]);
    for (const one of [name, ...others]) chart.dispatchAction({ type: all || one === name ? "legendSelect" : "legendUnSelect", name: one });
  });
}

/** Dragging over days asks for just those. */
function zoom(chart, days) {
  chart.dispatchAction({ type: "takeGlobalCursor", key: "dataZoomSelect", dataZoomSelectActive: true });
  chart.on("datazoom", (event) => {
    const { startValue, endValue } = event.batch?.[0] ?? event;
    if (startValue === undefined) return;
    const next = new Date(`${days[Math.min(endValue, days.length - 1)]}T00:00:00Z`);
    next.setUTCDate(next.getUTCDate() + 1);
    const address = new URL(location.href);
    address.searchParams.set("from", days[Math.max(startValue, 0)]);
    address.searchParams.set("to", next.toISOString().slice(0, 10));
    go(address.href);
  });
}

/** Forget charts that are no longer on the page. */
export function forget() {
  for (const [holder, chart] of drawn) {
    if (holder.isConnected) continue;
    watch.unobserve(holder);
    chart.dispose();
    drawn.delete(holder);
  }
}

export function again() {
  for (const [holder, chart] of drawn) render(holder, chart);
}

export function picture(holder, done) {
  const canvas = drawn.get(holder)?.renderToCanvas({ pixelRatio: 2, backgroundColor: palette().surface });
  canvas?.toBlob(done, "image/png");
}
