// One function per kind of chart: what the server tells -> what ECharts draws.
import { amount, clip, tick } from "./words.js";
import { gantt, heat, placed, strokes } from "./times.js";

const SHADE = { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [2, 4], rotation: -Math.PI / 4, color: "rgba(255,255,255,0.55)" };

/** What bills say is solid, what is estimated is hatched, what is only expected is an outline. */
const styled = (series, index, colours) =>
  series.outlined
    ? { color: "transparent", borderColor: colours.text, borderWidth: 1, borderType: "dashed" }
    : { color: colours[series.tone] ?? colours.series[index % colours.series.length], ...(series.hatched ? { decal: SHADE } : {}) };

/** From one value up to another at a place of the axis: how far a forecast may be off. */
function bands(told, colours) {
  const stroke = colours.text;
  return {
    name: told.name,
    type: "custom",
    silent: true,
    z: 5,
    encode: { x: 0, y: [1, 2] },
    itemStyle: { color: stroke },
    data: told.ranges.map(([at, low, high]) => [at, Number(low), Number(high)]),
    renderItem: (params, api) => {
      const [middle, top] = api.coord([api.value(0), api.value(2)]), [, bottom] = api.coord([api.value(0), api.value(1)]);
      const half = Math.min(api.size([1, 0])[0] * 0.16, 8), line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke, lineWidth: 1.5 } });
      return { type: "group", children: [line(middle, top, middle, bottom), line(middle - half, top, middle + half, top), line(middle - half, bottom, middle + half, bottom)] };
    },
  };
}

const axisOf = (colours, unit, least = undefined) => ({
  type: "value",
  ...(least === undefined ? {} : { min: least }),
  axisLabel: { color: colours.muted, formatter: (value) => tick(value, unit), hideOverlap: true, showMinLabel: least === undefined },
  splitLine: { lineStyle: { color: colours.line } },
  axisLine: { show: false },
  axisTick: { show: false },
  splitNumber: 4,
});

const legendOf = (colours, names) => ({
  show: names.length > 1,
  data: names,
  top: 0,
  left: 0,
  type: "scroll",
  itemWidth: 12,
  itemHeight: 10,
  itemGap: 14,
  textStyle: { color: colours.text, fontSize: 12 },
  inactiveColor: colours.line,
  pageTextStyle: { color: colours.muted },
  pageIconColor: colours.text,
});

const categories = (colours, labels) => ({
  type: "category",
  data: labels,
  axisLabel: { color: colours.muted, hideOverlap: true },
  axisLine: { lineStyle: { color: colours.line } },
  axisTick: { show: false },
});

/** A correction of a few cents does not deserve a quarter of the chart. */
function hardlyBelow(series) {
  const values = series.flatMap((one) => one.values.map(Number)).filter(Number.isFinite);
  const least = Math.min(0, ...values), most = Math.max(0, ...values);
  return least < 0 && -least < most * 0.03 ? -most * 0.03 : undefined;
}

/** Stacked or single columns over labels, with lines (a budget, the period before) on top of them. */
function bars(told, colours, room) {
  const lines = told.lines_over ?? [], banded = told.bands?.ranges.length ? [told.bands] : [];
  const names = [...told.series, ...lines, ...banded].map((one) => one.name);
  const rows = names.length > 1 ? Math.min(3, Math.ceil(names.reduce((sum, name) => sum + name.length * 6.5 + 34, 0) / room.width)) : 0;
  const value = (row) => (Array.isArray(row.value) ? `${amount(row.value[1], told.unit)} to ${amount(row.value[2], told.unit)}` : amount(row.value, told.unit));
  const text = (rows) => {
    const shown = rows.filter((row) => row.value !== null && row.value !== undefined && row.value !== "-");
    const sums = told.series.length > 1 && told.sums?.[rows[0].dataIndex] ? [`total: ${amount(told.sums[rows[0].dataIndex], told.unit)}`] : [];
    return [told.long?.[rows[0].dataIndex] ?? rows[0].name, ...shown.map((row) => `${row.seriesName}: ${value(row)}`), ...sums].join("\n");
  };
  return {
    grid: { top: rows ? 16 + 20 * rows : 14, left: 4, right: 10, bottom: 4, containLabel: true },
    legend: { ...legendOf(colours, names), type: rows < 3 ? "plain" : "scroll" },
    xAxis: categories(colours, told.labels),
    yAxis: axisOf(colours, told.unit, hardlyBelow(told.series)),
    tooltip: { trigger: "axis", formatter: text },
    ...(told.days ? { toolbox: { show: true, left: -100, feature: { dataZoom: { yAxisIndex: "none" } } } } : {}),
    series: [
      ...told.series.map((series, index) => ({
        name: series.name,
        type: "bar",
        stack: told.stacked ? "all" : undefined,
        data: series.values,
        barMaxWidth: 46,
        itemStyle: styled(series, index, colours),
      })),
      ...banded.map((one) => bands(one, colours)),
      ...lines.map((line) => ({
        name: line.name,
        type: "line",
        data: line.values,
        step: line.step ? "middle" : false,
        symbol: "none",
        lineStyle: { color: colours.text, width: 1.5, type: "dashed" },
        itemStyle: { color: colours.text },
      })),
    ],
  };
}

/** Bars that lie, one per label: for names that need room. */
function ranks(told, colours, room) {
  const most = room.width < 460 ? 16 : 34;
  return {
    grid: { top: 4, left: 4, right: 64, bottom: 4, containLabel: true },
    xAxis: { ...axisOf(colours, told.unit), axisLabel: { show: false }, splitLine: { show: false } },
    yAxis: { ...categories(colours, told.labels), inverse: true, axisLabel: { color: colours.text, formatter: (name) => clip(name, most) }, axisLine: { show: false } },
    tooltip: { trigger: "item", formatter: ({ name, value }) => `${name}\n${amount(value, told.unit)}` },
    series: [
      {
        type: "bar",
        data: told.values.map((value, index) => ({ value, link: told.links?.[index] })),
        barMaxWidth: 20,
        itemStyle: { color: colours.series[0], borderRadius: 2 },
        label: { show: true, position: "right", color: colours.text, formatter: ({ value }) => tick(value, told.unit) },
        cursor: told.links ? "pointer" : "default",
      },
    ],
  };
}

/** Lying bars in parts: what each name's whole is made of. */
function stacked_ranks(told, colours, room) {
  const upright = bars({ ...told, stacked: true, sums: undefined }, colours, room);
  const names = { ...upright.xAxis, inverse: true, axisLabel: { color: colours.text, formatter: (name) => clip(name, room.width < 460 ? 14 : 30), interval: 0 } };
  return { ...upright, xAxis: upright.yAxis, yAxis: names, series: upright.series.map((one) => ({ ...one, barMaxWidth: 18 })) };
}

/** Strokes over the part of a bar that is estimated: the upper part of it. */
function estimated(step, left, top, width, height, stroke) {
  const part = Math.abs(Number(step.estimated ?? 0) / Number(step.value || 1));
  return part ? strokes(left, top, width, height * Math.min(part, 1), stroke) : [];
}

/** From one total to another in steps: each step floats where the one before it ended. */
function waterfall(told, colours, room) {
  let at = 0;
  const floors = [], heights = [];
  for (const step of told.steps) {
    const value = Number(step.value), from = step.total ? 0 : at, to = step.total ? value : at + value;
    floors.push([from, to]);
    heights.push({ value, total: step.total });
    at = to;
  }
  const lows = floors.flatMap((pair, index) => (told.steps[index].total ? pair.slice(1) : pair));
  const least = Math.min(...lows), most = Math.max(...lows);
  const drawn = told.steps.map((step, index) => [index, ...floors[index]]);
  const tone = (index) => (told.steps[index].total ? colours.series[7] : floors[index][1] >= floors[index][0] ? colours.series[1] : colours.series[2]);
  const bottom = least > 0 && told.near ? Math.max(0, least - (most - least) * 0.35) : Math.min(0, least);
  return {
    grid: { top: 22, left: 4, right: 8, bottom: 4, containLabel: true },
    xAxis: { ...categories(colours, told.steps.map((step) => step.name)), axisLabel: { color: colours.text, interval: 0, rotate: room.width / told.steps.length < 62 ? 40 : 0, hideOverlap: false } },
    yAxis: { ...axisOf(colours, told.unit), min: bottom, scale: bottom > 0 },
    tooltip: { trigger: "item", formatter: ({ dataIndex }) => `${told.steps[dataIndex].name}\n${amount(told.steps[dataIndex].value, told.unit)}${told.steps[dataIndex].about ? `\n${told.steps[dataIndex].about}` : ""}` },
    series: [
      {
        type: "custom",
        data: drawn.map((value, index) => ({ value, link: told.steps[index].link })),
        renderItem: (params, api) => {
          const [left, top] = api.coord([api.value(0), Math.max(api.value(1), api.value(2))]);
          const [, low] = api.coord([api.value(0), Math.max(Math.min(api.value(1), api.value(2)), bottom)]);
          const [, end] = api.coord([api.value(0), api.value(2)]);
          const width = Math.min(api.size([1, 0])[0] * 0.62, 54), step = told.steps[api.value(0)];
          const narrow = api.size([1, 0])[0] < 56, isTold = step.total || api.size([1, 0])[0] > 34; // amounts of thin bars would lie over each other
          return {
            type: "group",
            children: [
              { type: "rect", shape: { x: left - width / 2, y: top, width, height: Math.max(low - top, 1.5) }, style: { fill: tone(api.value(0)) } },
              ...estimated(step, left - width / 2, top, width, low - top, colours.surface),
              ...(isTold ? [{ type: "text", style: { text: `${!step.total && Number(step.value) > 0 ? "+" : ""}${tick(Number(step.value), told.unit)}`, x: left, y: top - 5, align: "center", verticalAlign: "bottom", fill: colours.text, fontSize: narrow ? 10 : 12 } }] : []),
              ...(api.value(0) < told.steps.length - 1 ? [{ type: "line", shape: { x1: left + width / 2, x2: left + api.size([1, 0])[0] - width / 2, y1: end, y2: end }, style: { stroke: colours.muted, lineDash: [2, 2] } }] : []),
            ],
          };
        },
        encode: { x: 0, y: [1, 2] },
      },
    ],
  };
}

const mixed = (from, to, part) => {
  const numbers = (text) => text.match(/[\d.]+/g).map(Number);
  const [a, b] = [numbers(from), numbers(to)];
  return `rgb(${[0, 1, 2].map((index) => Math.round(a[index] + (b[index] - a[index]) * part)).join(",")})`;
};

const readable = (background) => {
  const [red, green, blue] = background.match(/[\d.]+/g).map((part) => (Number(part) / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? "#10151b" : "#ffffff";
};

/** Size is money, colour the rate: pale is cheap per hour, deep is dear. */
function treemap(told, colours) {
  const rates = told.nodes.flatMap((node) => node.children ?? [node]).map((node) => Number(node.rate)).filter((rate) => rate > 0);
  const [least, most] = [Math.min(...rates), Math.max(...rates)];
  const part = (rate) => (most > least ? Math.log(rate / least) / Math.log(most / least) : 0.5);
  const painted = (node) => {
    const fill = node.rate === null ? colours.outside : mixed(colours.low, colours.high, part(Number(node.rate)));
    return { ...node, value: Number(node.value), exact: node.value, itemStyle: { color: fill, ...(node.hatched ? { decal: { ...SHADE, color: "rgba(255,255,255,0.28)" } } : {}) }, label: { color: readable(fill) }, children: node.children?.map(painted) };
  };
  return {
    tooltip: { formatter: ({ data }) => (data?.exact ? `${data.name}\n${amount(data.exact, told.unit)}\n${data.rate === null ? "no rate" : amount(data.rate, told.rate_unit)}` : "") },
    series: [
      {
        type: "treemap",
        data: told.nodes.map(painted),
        width: "100%",
        height: "100%",
        top: 0,
        left: 0,
        roam: false,
        nodeClick: false,
        breadcrumb: { show: false },
        visibleMin: 60,
        label: { fontSize: 12, lineHeight: 16, overflow: "truncate", formatter: ({ data }) => `${data.name}\n${tick(data.value, told.unit)}${data.rate === null ? "" : `\n${tick(Number(data.rate), told.unit)}/h`}` },
        upperLabel: { show: true, height: 22, color: colours.text, fontWeight: 600, formatter: ({ data }) => `${data.name}  ${tick(data.value, told.unit)}` },
        itemStyle: { borderColor: colours.surface, borderWidth: 1, gapWidth: 1 },
        levels: [{ itemStyle: { borderWidth: 0, gapWidth: 3 }, upperLabel: { show: false } }, { itemStyle: { borderColor: colours.raised, borderWidth: 2, gapWidth: 1 }, upperLabel: { show: true, color: colours.text, backgroundColor: colours.raised } }],
      },
    ],
  };
}

/** Where money flows: bands as wide as the money. */
function sankey(told, colours, room) {
  // Where columns are near each other, a label has the room up to the next one, and amounts are in the table and the tip.
  const narrow = room.width < 560, right = narrow ? 70 : 150;
  const between = (room.width - right) / Math.max(1, ...told.nodes.map((node) => node.depth));
  const fits = Math.max(4, Math.floor((between - 24) / 6.2));
  const tall = Object.fromEntries(told.nodes.map((node) => [node.id, node]));
  return {
    tooltip: {
      formatter: ({ dataType, data }) =>
        dataType === "edge" ? `${tall[data.source].name} → ${tall[data.target].name}\n${amount(data.exact, told.unit)}` : `${tall[data.name].name}\n${amount(tall[data.name].value, told.unit)}`,
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
        data: told.nodes.map((node, index) => ({ name: node.id, depth: node.depth, link: node.link, itemStyle: { color: colours[node.tone] ?? colours.series[(node.series ?? index) % 8], ...(node.hatched ? { decal: SHADE } : {}) } })),
        links: told.links_between.map((link) => ({ ...link, value: Math.abs(Number(link.value)), exact: link.value })),
        lineStyle: { color: "source", opacity: 0.28, curveness: 0.5 },
        label: { color: colours.text, fontSize: narrow ? 11 : 12, formatter: ({ name }) => (narrow ? clip(tall[name].name, fits) : `${clip(tall[name].name, 30)}  ${tick(Number(tall[name].value), told.unit)}`) },
      },
    ],
  };
}

/** One dot per thing, on two scales. */
function dots(told, colours) {
  const near = told.log ? { min: ({ min }) => min * 0.7, max: ({ max }) => max * 1.4 } : {};
  const axis = (title, unit) => ({ ...axisOf(colours, unit), ...near, type: told.log ? "log" : "value", name: title, nameLocation: "middle", nameGap: 30, nameTextStyle: { color: colours.muted } });
  return {
    grid: { top: 14, left: 20, right: 16, bottom: 22, containLabel: true },
    legend: legendOf(colours, told.series.map((one) => one.name)),
    ...(told.series.length > 1 ? { grid: { top: 36, left: 20, right: 16, bottom: 22, containLabel: true } } : {}),
    xAxis: axis(told.x.title, told.x.unit),
    yAxis: { ...axis(told.y.title, told.y.unit), nameGap: 44 },
    tooltip: { formatter: ({ data }) => `${data.name}\n${told.x.title}: ${amount(data.value[0], told.x.unit)}\n${told.y.title}: ${amount(data.value[1], told.y.unit)}` },
    series: told.series.map((series, index) => ({
      name: series.name,
      type: "scatter",
      symbol: ["circle", "rect", "triangle", "diamond"][index % 4],
      symbolSize: 7,
      itemStyle: { color: colours.series[index % 8], opacity: 0.7 },
      data: series.points.map((point) => ({ name: point.name, link: point.link, value: [Number(point.x), Number(point.y)] })),
    })),
  };
}

export const kinds = { bars, ranks, stacked_ranks, waterfall, treemap, sankey, dots, gantt, heat, placed };
