// Charts over time: which attempt held which machine from when to when, and how much of it was used.
import { shorten } from "./format.js";

const STATE_COLORS = { completed: 0, running: 6, failed: 1, node_failed: 1, timeout: 1, preempted: 4, requeued: 4, canceled: 7 };
const INTERRUPTED = new Set(["preempted", "requeued", "failed", "node_failed", "timeout"]);
const NARROW = 460;

const timeText = (time) => new Date(time).toISOString().slice(5, 16).replace("T", " ");

const duration = (milliseconds) => {
  const minutes = Math.round(milliseconds / 60000);
  return minutes < 60 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`;
};

const lineShape = (x1, y1, x2, y2, style) => ({ type: "line", shape: { x1, y1, x2, y2 }, style });

/** Diagonal lines over a rectangle, clipped at its edges: the amount is estimated. */
export function hatching(left, top, width, height, stroke) {
  const lines = [];
  for (let offset = -height; offset < width && lines.length < 300; offset += 9) {
    const from = Math.max(offset, 0), to = Math.min(offset + height, width);
    if (to > from) lines.push(lineShape(left + from, top + height - (from - offset), left + to, top + height - (to - offset), { stroke, lineWidth: 1.5, opacity: 0.6 }));
  }
  return lines;
}

/** A cross at the end of a bar: the attempt was interrupted. */
function cross(right, middle, height, stroke) {
  const half = Math.min(height * 0.32, 6), style = { stroke, lineWidth: 2 };
  return [lineShape(right - half, middle - half, right + half, middle + half, style), lineShape(right - half, middle + half, right + half, middle - half, style)];
}

/** The time an attempt spent in each known phase, as lines of a tooltip. */
function phaseText(phases) {
  const sums = {};
  for (const { phase, from, to } of phases) sums[phase] = (sums[phase] ?? 0) + Date.parse(to) - Date.parse(from);
  return Object.entries(sums).map(([phase, time]) => `\n${phase}: ${duration(time)}`).join("");
}

/** A thin line before each attempt's bar: its time in the queue. */
function queueSeries(spec, colors) {
  const style = { stroke: colors.muted, lineWidth: 1.5 };
  return {
    type: "custom",
    encode: { x: [1, 2], y: 0 },
    data: (spec.queued ?? []).map((span) => ({ value: [span.row, Date.parse(span.from), Date.parse(span.to)], state: `attempt ${span.attempt} in the queue`, phases: [] })),
    renderItem: (_, api) => {
      const [left, middle] = api.coord([api.value(1), api.value(0)]), [right] = api.coord([api.value(2), api.value(0)]);
      const half = Math.min(api.size([0, 1])[1] * 0.2, 5);
      return { type: "group", children: [lineShape(left, middle, right, middle, style), lineShape(left, middle - half, left, middle + half, style)] };
    },
  };
}

const timeAxis = (colors, size, spec, format, ticks) => ({
  type: "time",
  min: spec.from,
  max: spec.to,
  axisLabel: { color: colors.muted, hideOverlap: true, formatter: format },
  splitLine: { show: true, lineStyle: { color: colors.line } },
  axisLine: { lineStyle: { color: colors.line } },
  splitNumber: size.width < NARROW ? 3 : ticks,
});

/** One row per attempt or machine, one bar per placement. Color and cross show how it ended; startup, checkpoints and lost work are drawn over it. */
export function gantt(spec, colors, size) {
  const length = size.width < NARROW ? 12 : 22;
  const phasesOf = (span) => spec.phases?.[span.attempt] ?? [];
  const phaseStyles = { starting: { fill: colors.muted }, checkpoint: { fill: colors.text, opacity: 0.75 }, lost: { fill: colors.surface, opacity: 0.65 } };
  const renderItem = (params, api) => {
    const [left, middle] = api.coord([api.value(1), api.value(0)]), [right] = api.coord([api.value(2), api.value(0)]);
    const height = Math.min(api.size([0, 1])[1] * 0.62, 20), width = Math.max(right - left, 2), top = middle - height / 2;
    const span = spec.spans[params.dataIndex], phases = phasesOf(span), isInterrupted = INTERRUPTED.has(span.state);
    const overlays = phases.flatMap(({ phase, from, to }) => {
      const [begin] = api.coord([Date.parse(from), api.value(0)]), [end] = api.coord([Date.parse(to), api.value(0)]);
      const x = Math.max(begin, left), visible = Math.min(Math.max(end - x, 1.2), left + width - x);
      return visible > 0 && end > left ? [{ type: "rect", shape: { x, y: top, width: visible, height }, style: phaseStyles[phase] }] : [];
    });
    const hasLabel = width > 62 && height >= 14;
    return {
      type: "group",
      children: [
        { type: "rect", shape: { x: left, y: top, width, height, r: 2 }, style: { fill: api.visual("color"), opacity: isInterrupted && !phases.length ? 0.6 : 1 } },
        ...overlays,
        ...(isInterrupted ? cross(left + width, middle, height, colors.text) : []),
        ...(hasLabel ? [{ type: "text", style: { text: span.state.replace("_", " "), x: left + 6, y: middle, verticalAlign: "middle", fill: "#fff", stroke: "rgba(0,0,0,0.55)", lineWidth: 2, fontSize: Math.min(11, height) } }] : []),
      ],
    };
  };
  return {
    grid: { top: 8, left: 4, right: 16, bottom: 4, containLabel: true },
    xAxis: timeAxis(colors, size, spec, timeText, 6),
    yAxis: { type: "category", inverse: true, data: spec.rows, axisLabel: { color: colors.text, formatter: (name) => shorten(name, length) }, axisTick: { show: false }, axisLine: { lineStyle: { color: colors.line } } },
    tooltip: { formatter: ({ data }) => `${spec.rows[data.value[0]]}\n${data.state}\n${timeText(data.value[1])} to ${timeText(data.value[2])} UTC\n${duration(data.value[2] - data.value[1])}${phaseText(data.phases)}` },
    series: [
      {
        type: "custom",
        encode: { x: [1, 2], y: 0 },
        data: spec.spans.map((span) => ({ value: [span.row, Date.parse(span.from), Date.parse(span.to)], state: span.state, phases: phasesOf(span), itemStyle: { color: colors.series[STATE_COLORS[span.state] ?? 7] } })),
        renderItem,
      },
      queueSeries(spec, colors),
    ],
  };
}

const percentScale = (colors) => ({ min: 0, max: 100, calculable: false, orient: "horizontal", left: "center", bottom: 0, itemWidth: 12, itemHeight: 160, text: ["100 %", "0 %"], textStyle: { color: colors.muted }, inRange: { color: [colors.low, colors.high] } });

const machineAxis = (colors, size, spec) => ({ type: "category", inverse: true, data: spec.rows, axisLabel: { color: colors.text, interval: 0, fontSize: 11, formatter: (name) => shorten(name, size.width < NARROW ? 12 : 34) }, axisTick: { show: false }, axisLine: { show: false } });

/** Machines by day, colored by percentage; more than 100 % has its own color. */
export function heatmap(spec, colors, size) {
  return {
    grid: { top: 8, left: 4, right: 8, bottom: 44, containLabel: true },
    xAxis: { type: "category", data: spec.columns, axisLabel: { color: colors.muted, hideOverlap: true }, axisTick: { show: false }, axisLine: { show: false } },
    yAxis: machineAxis(colors, size, spec),
    visualMap: { ...percentScale(colors), outOfRange: { color: colors.series[1] } },
    tooltip: { formatter: ({ data }) => `${spec.rows[data.value[1]]}, ${spec.columns[data.value[0]]}\n${spec.measure}: ${data.value[2]} %${data.detail ? `\n${data.detail}` : ""}` },
    series: [{ type: "heatmap", data: spec.cells.map(([column, row, value, detail]) => ({ value: [column, row, Number(value)], detail })), itemStyle: { borderColor: colors.surface, borderWidth: 1 } }],
  };
}

/** Machines over time: each bar is an attempt, colored by the utilization of the GPUs it held. */
export function placements(spec, colors, size) {
  const renderItem = (params, api) => {
    const { x, width } = params.coordSys;
    const [left, middle] = api.coord([api.value(1), api.value(0)]), [right] = api.coord([api.value(2), api.value(0)]);
    const height = Math.min(api.size([0, 1])[1] * 0.8, 22), from = Math.max(left, x);
    const shape = { x: from, y: middle - height / 2, width: Math.max(Math.min(right, x + width) - from, 1.5), height };
    return { type: "rect", shape, style: { fill: api.visual("color"), stroke: colors.surface, lineWidth: 0.5 } };
  };
  return {
    grid: { top: 8, left: 4, right: 16, bottom: 44, containLabel: true },
    xAxis: timeAxis(colors, size, spec, (time) => timeText(time).slice(0, 5), 8),
    yAxis: machineAxis(colors, size, spec),
    visualMap: { ...percentScale(colors), dimension: 3 },
    tooltip: { formatter: ({ data }) => `${data.name}\n${spec.rows[data.value[0]]}\n${timeText(data.value[1])} to ${timeText(data.value[2])} UTC, ${duration(data.value[2] - data.value[1])}\nGPU utilization: ${data.value[3]} %` },
    series: [
      {
        type: "custom",
        clip: true,
        encode: { x: [1, 2], y: 0 },
        data: spec.spans.map((span) => ({ name: span.name, link: span.link, value: [span.row, Date.parse(span.from), Date.parse(span.to), Number(span.busy)] })),
        renderItem,
      },
    ],
  };
}
