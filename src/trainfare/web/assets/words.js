// Numbers as people read them. Amounts come as decimal text and are written from that, so no digit is lost on the way.

const plain = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const small = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const signs = { USD: "$", EUR: "€", GBP: "£", JPY: "¥" };

/** An amount with its unit: a currency, `h`, `%`, or anything else, which comes behind. */
export function amount(value, unit) {
  if (value === null || value === undefined || value === "-") return "-";
  if (unit === "%") return `${whole.format(value)} %`;
  if (unit === "h") return `${whole.format(value)} h`;
  if (/^[A-Z]{3}$/.test(unit)) return `${plain.format(value)} ${unit}`;
  if (/^[A-Z]{3}\//.test(unit)) return `${plain.format(value)} ${unit.replace("/", " per ")}`;
  return `${whole.format(value)} ${unit}`.trim();
}

/** The same for an axis, where room is scarce. */
export function tick(value, unit) {
  const sign = signs[unit?.slice(0, 3)] ?? "";
  const told = `${value < 0 ? "−" : ""}${sign}${(Math.abs(value) < 1 ? small : short).format(Math.abs(value))}`;
  if (unit === "%") return `${value} %`;
  return unit === "GB" || unit === "TB" ? `${told} ${unit}` : told;
}

export function clip(text, length) {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}
