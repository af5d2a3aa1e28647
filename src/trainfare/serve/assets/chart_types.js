// One function per chart type: spec from the server -> ECharts options.
import { amount, roundDown, roundUp, shorten, tick } from "./format.js";
import { gantt, hatching, heatmap, placements } from "./timeline_charts.js";

const HATCHED = { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [2, 4], rotation: -Math.PI / 4, color: "rgba(255,255,255,0.55)" };
const NARROW = 460;

/** Billed amounts are solid, estimated ones hatched, forecasts an outline. */
const itemStyle = (series, index, colors) =>
  series.outlined
    ? { color: "transparent", borderColor: colors.text, borderWidth: 1, borderType: "dashed" }
    : { color: colors[series.color] ?? colors.series[index % colors.series.length], ...(series.hatched ? { decal: HATCHED } : {}) };

/** Vertical ranges at positions of the axis: the prediction interval of a forecast. */
function intervalSeries(intervals, colors) {
  const stroke = colors.text;
  const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke, lineWidth: 1.5 } });
  return {
    name: intervals.name,
    type: "custom",
    silent: true,
    z: 5,
    encode: { x: 0, y: [1, 2] },
    itemStyle: { color: stroke },
    data: intervals.ranges.map(([index, low, high]) => [index, Number(low), Number(high)]),
    renderItem: (params, api) => {
      const [middle, top] = api.coord([api.value(0), api.value(2)]), [, bottom] = api.coord([api.value(0), api.value(1)]);
      const half = Math.min(api.size([1, 0])[0] * 0.16, 8);
      return { type: "group", children: [line(middle, top, middle, bottom), line(middle - half, top, middle + half, top), line(middle - half, bottom, middle + half, bottom)] };
    },
  };
}

const valueAxis = (colors, unit, min = undefined) => ({
  type: "value",
  ...(min === undefined ? {} : { min }),
  axisLabel: { color: colors.muted, formatter: (value) => tick(value, unit), hideOverlap: true, showMinLabel: min === undefined },
  splitLine: { lineStyle: { color: colors.line } },
  axisLine: { show: false },
  axisTick: { show: false },
  splitNumber: 4,
});

const legend = (colors, names) => ({
  show: names.length > 1,
  data: names,
  top: 0,
  left: 0,
  type: "scroll",
  itemWidth: 12,
  itemHeight: 10,
  itemGap: 14,
  textStyle: { color: colors.text, fontSize: 12 },
  inactiveColor: colors.line,
  pageTextStyle: { color: colors.muted },
  pageIconColor: colors.text,
});

/** How many rows a legend of these names needs. */
function legendRows(names, width) {
  let rows = names.length > 1 ? 1 : 0, used = 0;
  for (const name of names.length > 1 ? names : []) {
    const entry = name.length * 6.8 + 32;
    if (used && used + entry > width) [rows, used] = [rows + 1, 0];
    used += entry;
  }
  return rows;
}

const categoryAxis = (colors, labels) => ({
  type: "category",
  data: labels,
  axisLabel: { color: colors.muted, hideOverlap: true },
  axisLine: { lineStyle: { color: colors.line } },
  axisTick: { show: false },
});

/** The axis minimum for series with negative values that are too small to see; a full tick for them would waste space. */
function smallNegativeMin(series) {
  const values = series.flatMap(({ values }) => values.map(Number)).filter(Number.isFinite);
  const least = Math.min(0, ...values), most = Math.max(0, ...values);
  return least < 0 && -least < most * 0.03 ? -most * 0.03 : undefined;
}

/** Vertical bars, stacked or single, with optional lines (a budget) and intervals (a forecast) over them. */
function bars(spec, colors, size) {
  const lines = spec.lines ?? [], intervals = spec.intervals?.ranges.length ? [spec.intervals] : [];
  const names = [...spec.series, ...lines, ...intervals].map(({ name }) => name);
  const rows = legendRows(names, size.width), isLong = rows > 4;
  const valueText = ({ value }) => (Array.isArray(value) ? `${amount(value[1], spec.unit)} to ${amount(value[2], spec.unit)}` : amount(value, spec.unit));
  const tooltip = (items) => {
    const index = items[0].dataIndex, total = spec.series.length > 1 && spec.totals?.[index];
    const known = items.filter(({ value }) => value !== null && value !== undefined && value !== "-");
    return [spec.long_labels?.[index] ?? items[0].name, ...known.map((item) => `${item.seriesName}: ${valueText(item)}`), ...(total ? [`Total: ${amount(total, spec.unit)}`] : [])].join("\n");
  };
  return {
    grid: { top: rows ? 16 + 20 * (isLong ? 1 : rows) : 14, left: 4, right: 10, bottom: 4, containLabel: true },
    legend: { ...legend(colors, names), type: isLong ? "scroll" : "plain" },
    xAxis: categoryAxis(colors, spec.labels),
    yAxis: valueAxis(colors, spec.unit, smallNegativeMin(spec.series)),
    tooltip: { trigger: "axis", formatter: tooltip },
    ...(spec.days ? { toolbox: { show: true, left: -100, feature: { dataZoom: { yAxisIndex: "none" } } } } : {}),
    series: [
      ...spec.series.map((series, index) => ({
        name: series.name,
        type: "bar",
        stack: spec.stacked ? "all" : undefined,
        data: series.values,
        barMaxWidth: 46,
        itemStyle: itemStyle(series, index, colors),
      })),
      ...intervals.map((one) => intervalSeries(one, colors)),
      ...lines.map((line) => ({
        name: line.name,
        type: "line",
        data: line.values,
        symbol: "none",
        lineStyle: { color: colors.text, width: 1.5, type: "dashed" },
        itemStyle: { color: colors.text },
      })),
    ],
  };
}

/** Horizontal bars, one per label, for names that need space. */
function horizontal_bars(spec, colors, size) {
  const length = size.width < NARROW ? 16 : 34;
  return {
    grid: { top: 4, left: 4, right: 64, bottom: 4, containLabel: true },
    xAxis: { ...valueAxis(colors, spec.unit), axisLabel: { show: false }, splitLine: { show: false } },
    yAxis: { ...categoryAxis(colors, spec.labels), inverse: true, axisLabel: { color: colors.text, formatter: (name) => shorten(name, length) }, axisLine: { show: false } },
    tooltip: { trigger: "item", formatter: ({ name, value }) => `${name}\n${amount(value, spec.unit)}` },
    series: [
      {
        type: "bar",
        data: spec.values.map((value, index) => ({ value, link: spec.links?.[index] })),
        barMaxWidth: 20,
        itemStyle: { color: colors.series[0], borderRadius: 2 },
        label: { show: true, position: "right", color: colors.text, formatter: ({ value }) => tick(value, spec.unit) },
        cursor: spec.links ? "pointer" : "default",
      },
    ],
  };
}

/** Horizontal bars, each split into the parts of its total. */
function stacked_horizontal_bars(spec, colors, size) {
  const vertical = bars({ ...spec, stacked: true }, colors, size);
  const length = size.width < NARROW ? 14 : 30;
  const names = { ...vertical.xAxis, inverse: true, axisLabel: { color: colors.text, formatter: (name) => shorten(name, length), interval: 0 } };
  return { ...vertical, xAxis: vertical.yAxis, yAxis: names, series: vertical.series.map((series) => ({ ...series, barMaxWidth: 18 })) };
}

/** Hatching over the estimated part at the top of a bar. */
function estimatedPart(step, left, top, width, height, stroke) {
  const part = Math.abs(Number(step.estimated ?? 0) / Number(step.value || 1));
  return part ? hatching(left, top, width, height * Math.min(part, 1), stroke) : [];
}

/** From one total to another in steps: each step starts where the previous one ended. */
function waterfall(spec, colors, size) {
  const { steps, unit } = spec;
  let level = 0;
  const ranges = steps.map((step) => {
    const value = Number(step.value), from = step.total ? 0 : level;
    level = step.total ? value : level + value;
    return [from, level];
  });
  const bottom = Math.min(Number(spec.axis_start ?? 0), ...ranges.flatMap(([from, to], index) => (steps[index].total ? [to] : [from, to])));
  const color = (index) => (steps[index].total ? colors.series[7] : ranges[index][1] >= ranges[index][0] ? colors.series[1] : colors.series[2]);
  const label = (step) => `${!step.total && Number(step.value) > 0 ? "+" : ""}${tick(Number(step.value), unit)}`;
  const renderItem = (params, api) => {
    const index = api.value(0), step = steps[index], [columnWidth] = api.size([1, 0]);
    const [middle, top] = api.coord([index, Math.max(api.value(1), api.value(2))]);
    const [, low] = api.coord([index, Math.max(Math.min(api.value(1), api.value(2)), bottom)]);
    const [, end] = api.coord([index, api.value(2)]);
    const width = Math.min(columnWidth * 0.62, 54), left = middle - width / 2;
    const hasLabel = step.total || columnWidth > 34; // the labels of thin bars would overlap
    return {
      type: "group",
      children: [
        { type: "rect", shape: { x: left, y: top, width, height: Math.max(low - top, 1.5) }, style: { fill: color(index) } },
        ...estimatedPart(step, left, top, width, low - top, colors.surface),
        ...(hasLabel ? [{ type: "text", style: { text: label(step), x: middle, y: top - 5, align: "center", verticalAlign: "bottom", fill: colors.text, fontSize: columnWidth < 56 ? 10 : 12 } }] : []),
        ...(index < steps.length - 1 ? [{ type: "line", shape: { x1: left + width, x2: left + columnWidth, y1: end, y2: end }, style: { stroke: colors.muted, lineDash: [2, 2] } }] : []),
      ],
    };
  };
  const longestName = Math.max(...steps.map(({ name }) => name.length));
  const rotate = (size.width - 60) / steps.length < longestName * 6.6 ? 40 : 0;
  return {
    grid: { top: 22, left: 4, right: 8, bottom: 4, containLabel: true },
    xAxis: { ...categoryAxis(colors, steps.map(({ name }) => name)), axisLabel: { color: colors.text, interval: 0, rotate, hideOverlap: false } },
    yAxis: { ...valueAxis(colors, unit), ...(bottom ? { min: bottom } : {}) },
    tooltip: { trigger: "item", formatter: ({ dataIndex }) => [steps[dataIndex].name, amount(steps[dataIndex].value, unit), ...(steps[dataIndex].about ? [steps[dataIndex].about] : [])].join("\n") },
    series: [{ type: "custom", data: ranges.map((range, index) => ({ value: [index, ...range], link: steps[index].link })), renderItem, encode: { x: 0, y: [1, 2] } }],
  };
}

const mixColors = (from, to, part) => {
  const numbers = (text) => text.match(/[\d.]+/g).map(Number);
  const [a, b] = [numbers(from), numbers(to)];
  return `rgb(${[0, 1, 2].map((index) => Math.round(a[index] + (b[index] - a[index]) * part)).join(",")})`;
};

const readableOn = (background) => {
  const [red, green, blue] = background.match(/[\d.]+/g).map((part) => (Number(part) / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? "#10151b" : "#ffffff";
};

/** Size is cost, color is the rate: the stronger the color, the higher the cost per hour. */
function treemap(spec, colors) {
  const rates = spec.nodes.flatMap((node) => node.children ?? [node]).map(({ rate }) => Number(rate)).filter((rate) => rate > 0);
  const [least, most] = [Math.min(...rates), Math.max(...rates)];
  const strength = (rate) => (most > least ? Math.log(rate / least) / Math.log(most / least) : 0.5);
  const styledNode = (node) => {
    const fill = node.rate === null ? colors.outside : mixColors(colors.low, colors.high, strength(Number(node.rate)));
    const hatched = node.hatched ? { decal: { ...HATCHED, color: "rgba(255,255,255,0.28)" } } : {};
    return { ...node, value: Number(node.value), exact: node.value, itemStyle: { color: fill, ...hatched }, label: { color: readableOn(fill) }, children: node.children?.map(styledNode) };
  };
  const label = ({ data }) => [data.name, tick(data.value, spec.unit), ...(data.rate === null ? [] : [`${tick(Number(data.rate), spec.unit)}/h`])].join("\n");
  return {
    tooltip: { formatter: ({ data }) => (data?.exact ? `${data.name}\n${amount(data.exact, spec.unit)}\n${data.rate === null ? "no rate" : amount(data.rate, spec.rate_unit)}` : "") },
    series: [
      {
        type: "treemap",
        data: spec.nodes.map(styledNode),
        width: "100%",
        height: "100%",
        top: 0,
        left: 0,
        roam: false,
        nodeClick: false,
        breadcrumb: { show: false },
        visibleMin: 60,
        label: { fontSize: 12, lineHeight: 16, overflow: "truncate", formatter: label },
        // A tile that is too small for its label has none; its tooltip says the same.
        labelLayout: ({ rect, labelRect }) => (rect.width < Math.min(labelRect.width, 64) || rect.height < labelRect.height ? { fontSize: 0.01 } : {}),
        upperLabel: { show: true, height: 22, color: colors.text, fontWeight: 600, formatter: ({ data }) => `${data.name}  ${tick(data.value, spec.unit)}` },
        itemStyle: { borderColor: colors.surface, borderWidth: 1, gapWidth: 1 },
        levels: [{ itemStyle: { borderWidth: 0, gapWidth: 3 }, upperLabel: { show: false } }, { itemStyle: { borderColor: colors.raised, borderWidth: 2, gapWidth: 1 }, upperLabel: { show: true, color: colors.text, backgroundColor: colors.raised } }],
      },
    ],
  };
}

/** Cost flows from left to right; a band is as wide as its amount. */
function sankey(spec, colors, size) {
  // In a narrow chart, a label has the space up to the next column, and amounts are in the table and the tooltip.
  const isNarrow = size.width < 560, right = isNarrow ? 70 : 150;
  const columnWidth = (size.width - right) / Math.max(1, ...spec.nodes.map(({ depth }) => depth));
  const fitting = Math.max(4, Math.floor((columnWidth - 24) / 6.2));
  const nodes = Object.fromEntries(spec.nodes.map((node) => [node.id, node]));
  const label = ({ name, value }) => (isNarrow ? shorten(name, fitting) : `${shorten(name, 30)}  ${tick(Number(value), spec.unit)}`);
  return {
    tooltip: {
      formatter: ({ dataType, data }) =>
        dataType === "edge" ? `${nodes[data.source].name} → ${nodes[data.target].name}\n${amount(data.exact, spec.unit)}` : `${nodes[data.name].name}\n${amount(nodes[data.name].value, spec.unit)}`,
    },
    series: [
      {
        type: "sankey",
        left: 6,
        right,
        top: 10,
        bottom: 10,
        nodeWidth: 12,
        nodeGap: 15,
        draggable: false,
        layoutIterations: 48,
        emphasis: { focus: "adjacency" },
        data: spec.nodes.map((node) => ({ name: node.id, depth: node.depth, itemStyle: { color: colors[node.color], ...(node.hatched ? { decal: HATCHED } : {}) } })),
        links: spec.flows.map((flow) => ({ ...flow, value: Math.abs(Number(flow.value)), exact: flow.value })),
        lineStyle: { color: "source", opacity: 0.28, curveness: 0.5 },
        label: { color: colors.text, fontSize: isNarrow ? 11 : 12, formatter: ({ name }) => label(nodes[name]) },
      },
    ],
  };
}

/** One point per job, on two logarithmic axes that end at round numbers. */
function scatter(spec, colors) {
  const axis = ({ title, unit }) => ({
    ...valueAxis(colors, unit),
    type: "log",
    min: ({ min }) => roundDown(min * 0.95),
    max: ({ max }) => roundUp(max * 1.05),
    name: title,
    nameLocation: "middle",
    nameGap: 30,
    nameTextStyle: { color: colors.muted },
  });
  return {
    grid: { top: spec.series.length > 1 ? 36 : 14, left: 20, right: 16, bottom: 22, containLabel: true },
    legend: legend(colors, spec.series.map(({ name }) => name)),
    xAxis: axis(spec.x),
    yAxis: { ...axis(spec.y), nameGap: 44 },
    tooltip: { formatter: ({ data }) => `${data.name}\n${spec.x.title}: ${amount(data.value[0], spec.x.unit)}\n${spec.y.title}: ${amount(data.value[1], spec.y.unit)}` },
    series: spec.series.map((series, index) => ({
      name: series.name,
      type: "scatter",
      symbol: ["circle", "rect", "triangle", "diamond"][index % 4],
      symbolSize: 7,
      itemStyle: { color: colors.series[index % 8], opacity: 0.7 },
      data: series.points.map((point) => ({ name: point.name, link: point.link, value: [Number(point.x), Number(point.y)] })),
    })),
  };
}

export const chartTypes = { bars, horizontal_bars, stacked_horizontal_bars, waterfall, treemap, sankey, scatter, gantt, heatmap, placements };
