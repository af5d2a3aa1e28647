// Charts of things in time: who held what from when to when, and how full it was.
import { clip } from "./words.js";

const TONES = { completed: 0, running: 6, failed: 1, node_failed: 1, timeout: 1, preempted: 4, requeued: 4, cancelled: 7 };
const LOST = new Set(["preempted", "requeued", "failed", "node_failed", "timeout"]);

const moment = (time) => new Date(time).toISOString().slice(5, 16).replace("T", " ");

const duration = (milliseconds) => {
  const minutes = Math.round(milliseconds / 60000);
  return minutes < 60 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`;
};

/** Slanted strokes over a bar, cut at its edges: what it says is not final. */
export function strokes(left, top, width, height, stroke) {
  const lines = [];
  for (let at = -height; at < width && lines.length < 300; at += 9) {
    const from = Math.max(at, 0), to = Math.min(at + height, width);
    if (to > from) lines.push({ type: "line", shape: { x1: left + from, y1: top + height - (from - at), x2: left + to, y2: top + height - (to - at) }, style: { stroke, lineWidth: 1.5, opacity: 0.6 } });
  }
  return lines;
}

/** A cross at the end of a bar: it did not come to its end. */
function crossed(right, middle, height, stroke) {
  const half = Math.min(height * 0.32, 6);
  const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke, lineWidth: 2 } });
  return [line(right - half, middle - half, right + half, middle + half), line(right - half, middle + half, right + half, middle - half)];
}

/** How long an attempt was in each phase that is known of it, in words. */
function phased(phases) {
  const sums = {};
  for (const { phase, from, to } of phases) sums[phase] = (sums[phase] ?? 0) + Date.parse(to) - Date.parse(from);
  return Object.entries(sums).map(([phase, taken]) => `\n${phase}: ${duration(taken)}`).join("");
}

/** A thin line with an end to each side: the attempt was in the queue. */
function waiting(told, colours) {
  const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: colours.muted, lineWidth: 1.5 } });
  return {
    type: "custom",
    encode: { x: [1, 2], y: 0 },
    data: (told.queued ?? []).map((span) => ({ value: [span.row, Date.parse(span.from), Date.parse(span.to)], state: `attempt ${span.attempt} in the queue`, phases: [] })),
    renderItem: (_, api) => {
      const [left, middle] = api.coord([api.value(1), api.value(0)]), [right] = api.coord([api.value(2), api.value(0)]);
      const half = Math.min(api.size([0, 1])[1] * 0.2, 5);
      return { type: "group", children: [line(left, middle, right, middle), line(left, middle - half, left, middle + half)] };
    },
  };
}

/** One row per attempt or machine, one bar per span; colour and a cross say how it ended, and over it lie the phases that are known of it: starting, checkpoints, lost. Before it stands a line for its time in the queue. */
export function gantt(told, colours, room) {
  const most = room.width < 460 ? 12 : 22;
  const known = (span) => told.phases?.[span.attempt] ?? [];
  const looks = { starting: { fill: colours.muted }, checkpoint: { fill: colours.text, opacity: 0.75 }, lost: { fill: colours.surface, opacity: 0.65 } };
  return {
    grid: { top: 8, left: 4, right: 16, bottom: 4, containLabel: true },
    xAxis: { type: "time", min: told.from, max: told.to, axisLabel: { color: colours.muted, hideOverlap: true, formatter: (value) => moment(value) }, splitLine: { show: true, lineStyle: { color: colours.line } }, axisLine: { lineStyle: { color: colours.line } }, splitNumber: room.width < 460 ? 3 : 6 },
    yAxis: { type: "category", inverse: true, data: told.rows, axisLabel: { color: colours.text, formatter: (name) => clip(name, most) }, axisTick: { show: false }, axisLine: { lineStyle: { color: colours.line } } },
    tooltip: { formatter: ({ data }) => `${told.rows[data.value[0]]}\n${data.state}\n${moment(data.value[1])} to ${moment(data.value[2])} UTC\n${duration(data.value[2] - data.value[1])}${phased(data.phases)}` },
    series: [
      {
        type: "custom",
        encode: { x: [1, 2], y: 0 },
        data: told.spans.map((span) => ({ value: [span.row, Date.parse(span.from), Date.parse(span.to)], state: span.state, phases: known(span), itemStyle: { color: colours.series[TONES[span.state] ?? 7] } })),
        renderItem: (params, api) => {
          const [left, middle] = api.coord([api.value(1), api.value(0)]), [right] = api.coord([api.value(2), api.value(0)]);
          const height = Math.min(api.size([0, 1])[1] * 0.62, 20);
          const span = told.spans[params.dataIndex], width = Math.max(right - left, 2), top = middle - height / 2;
          const phases = known(span);
          const over = phases.flatMap(({ phase, from, to }) => {
            const [begin] = api.coord([Date.parse(from), api.value(0)]), [end] = api.coord([Date.parse(to), api.value(0)]);
            const x = Math.max(begin, left), wide = Math.min(Math.max(end - x, 1.2), left + width - x);
            return wide > 0 && end > left ? [{ type: "rect", shape: { x, y: top, width: wide, height }, style: looks[phase] }] : [];
          });
          return {
            type: "group",
            children: [
              { type: "rect", shape: { x: left, y: top, width, height, r: 2 }, style: { fill: api.visual("color"), opacity: LOST.has(span.state) && !phases.length ? 0.6 : 1 } },
              ...over,
              ...(LOST.has(span.state) ? crossed(left + width, middle, height, colours.text) : []),
              ...(width > 62 && height >= 14 ? [{ type: "text", style: { text: span.state, x: left + 6, y: middle, verticalAlign: "middle", fill: "#fff", stroke: "rgba(0,0,0,0.55)", lineWidth: 2, fontSize: Math.min(11, height) } }] : []),
            ],
          };
        },
      },
      waiting(told, colours),
    ],
  };
}

const shade = (colours) => ({ calculable: false, orient: "horizontal", left: "center", bottom: 0, itemWidth: 12, itemHeight: 160, text: ["100 %", "0 %"], textStyle: { color: colours.muted }, inRange: { color: [colours.low, colours.high] } });

/** Machines by days: pale is empty, deep is full, and a colour of its own is more than there is. */
export function heat(told, colours, room) {
  return {
    grid: { top: 8, left: 4, right: 8, bottom: 44, containLabel: true },
    xAxis: { type: "category", data: told.columns, axisLabel: { color: colours.muted, hideOverlap: true }, axisTick: { show: false }, axisLine: { show: false } },
    yAxis: { type: "category", inverse: true, data: told.rows, axisLabel: { color: colours.text, interval: 0, fontSize: 11, formatter: (name) => clip(name, room.width < 460 ? 12 : 34) }, axisTick: { show: false }, axisLine: { show: false } },
    visualMap: { ...shade(colours), min: 0, max: 100, outOfRange: { color: colours.series[1] } },
    tooltip: { formatter: ({ data }) => `${told.rows[data.value[1]]}, ${told.columns[data.value[0]]}\n${told.what}: ${data.value[2]} %${data.beside ? `\n${data.beside}` : ""}` },
    series: [{ type: "heatmap", data: told.cells.map(([column, row, value, beside]) => ({ value: [column, row, Number(value)], beside })), itemStyle: { borderColor: colours.surface, borderWidth: 1 } }],
  };
}

/** Machines over time: a bar is an attempt that held GPUs there, pale if these did little, deep if they were busy. */
export function placed(told, colours, room) {
  return {
    grid: { top: 8, left: 4, right: 16, bottom: 44, containLabel: true },
    xAxis: { type: "time", min: told.from, max: told.to, axisLabel: { color: colours.muted, hideOverlap: true, formatter: (value) => moment(value).slice(0, 5) }, splitLine: { show: true, lineStyle: { color: colours.line } }, axisLine: { show: false }, splitNumber: room.width < 460 ? 3 : 8 },
    yAxis: { type: "category", inverse: true, data: told.rows, axisLabel: { color: colours.text, interval: 0, fontSize: 11, formatter: (name) => clip(name, room.width < 460 ? 12 : 34) }, axisTick: { show: false }, axisLine: { show: false } },
    visualMap: { ...shade(colours), min: 0, max: 100, dimension: 3 },
    tooltip: { formatter: ({ data }) => `${data.name}\n${told.rows[data.value[0]]}\n${moment(data.value[1])} to ${moment(data.value[2])} UTC, ${duration(data.value[2] - data.value[1])}\nGPUs busy: ${data.value[3]} %` },
    series: [
      {
        type: "custom",
        clip: true,
        encode: { x: [1, 2], y: 0 },
        data: told.spans.map((span) => ({ name: span.name, link: span.link, value: [span.row, Date.parse(span.from), Date.parse(span.to), Number(span.busy)] })),
        renderItem: (params, api) => {
          const [left, middle] = api.coord([api.value(1), api.value(0)]), [right] = api.coord([api.value(2), api.value(0)]);
          const height = Math.min(api.size([0, 1])[1] * 0.8, 22), edge = params.coordSys.x + params.coordSys.width;
          const from = Math.max(left, params.coordSys.x), width = Math.max(Math.min(right, edge) - from, 1.5);
          return { type: "rect", shape: { x: from, y: middle - height / 2, width, height }, style: { fill: api.visual("color"), stroke: colours.surface, lineWidth: 0.5 } };
        },
      },
    ],
  };
}
