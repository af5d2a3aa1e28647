// The current colors, for charts, and the button that switches the theme.

const TOKENS = ["text", "muted", "line", "surface", "raised", "accent", "good", "bad", "warn", "idle", "unallocated", "outside", "low", "high"];
const SERIES = [1, 2, 3, 4, 5, 6, 7, 8].map((number) => `series-${number}`);

/** The computed color of a CSS token; `light-dark()` is only resolved on an element. */
function resolve(token) {
  const probe = document.createElement("span");
  probe.style.color = `var(--${token})`;
  document.body.append(probe);
  const color = getComputedStyle(probe).color;
  probe.remove();
  return color;
}

export function palette() {
  const colors = Object.fromEntries([...TOKENS, ...SERIES].map((token) => [token, resolve(token)]));
  return { ...colors, jobs: colors["series-1"], series: SERIES.map((token) => colors[token]) };
}

export const isDark = () => getComputedStyle(document.documentElement).colorScheme === "dark" ||
  (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);

/** Redraw when the button or the system switches the theme, and in light colors for print. */
export function listenForThemeChanges(redraw) {
  const root = document.documentElement;
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-toggle]")) return;
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("theme", root.dataset.theme);
    } catch {
      // Then the choice applies to this page only.
    }
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let themeBeforePrint = "";
  addEventListener("beforeprint", () => {
    themeBeforePrint = root.dataset.theme ?? "";
    root.dataset.theme = "light";
    redraw();
  });
  addEventListener("afterprint", () => {
    if (themeBeforePrint) root.dataset.theme = themeBeforePrint;
    else delete root.dataset.theme;
    redraw();
  });
}
