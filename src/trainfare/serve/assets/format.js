// Number formats. Amounts arrive as decimal text and are formatted from that text, so no digit is lost.

const money = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const oneDecimal = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const twoDigits = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const symbols = { USD: "$", EUR: "€", GBP: "£", JPY: "¥" };

/** An amount with its unit: a currency, a rate such as `USD/h`, `h`, `%`, or any other unit. */
export function amount(value, unit) {
  if (value === null || value === undefined || value === "-") return "-";
  if (/^[A-Z]{3}$/.test(unit)) return `${money.format(value)} ${unit}`;
  if (/^[A-Z]{3}\//.test(unit)) return `${money.format(value)} ${unit.replace("/", " per ")}`;
  return `${oneDecimal.format(value)} ${unit}`.trim();
}

/** A short form for axes and labels. */
export function tick(value, unit) {
  if (unit === "%") return `${value} %`;
  const symbol = symbols[unit?.slice(0, 3)] ?? "";
  const text = `${value < 0 ? "−" : ""}${symbol}${(Math.abs(value) < 1 ? twoDigits : compact).format(Math.abs(value))}`;
  return unit === "GB" || unit === "TB" ? `${text} ${unit}` : text;
}

export function shorten(text, length) {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

/** The largest of 1, 2 and 5 times a power of ten that is at most the value. */
export function roundDown(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return Number(([5, 2, 1].find((step) => step * power <= value * 1.000001) * power).toPrecision(1));
}

/** The smallest of 1, 2 and 5 times a power of ten that is at least the value. */
export function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return Number(([1, 2, 5, 10].find((step) => step * power >= value * 0.999999) * power).toPrecision(1));
}
