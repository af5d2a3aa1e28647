// The colours in force, for charts, and the button that changes them.

/** A token's value as a colour that a canvas understands: `light-dark()` is only resolved on an element. */
function resolve(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

export function palette() {
  const names = ["text", "muted", "line", "surface", "raised", "accent", "good", "bad", "warn", "idle", "unallocated", "outside", "low", "high"];
  const found = Object.fromEntries(names.map((name) => [name, resolve(name)]));
  found.jobs = resolve("series-1");
  [1, 2, 3, 4, 5, 6, 7, 8].forEach((number) => (found[`series-${number}`] = resolve(`series-${number}`)));
  found.series = [1, 2, 3, 4, 5, 6, 7, 8].map((number) => resolve(`series-${number}`));
  return found;
}

export const isDark = () => getComputedStyle(document.documentElement).colorScheme === "dark" ||
  (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);

/** The button, the system's change of mind, and paper, which is always light. */
export function theme(redraw) {
  const root = document.documentElement;
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-toggle]")) return;
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("theme", root.dataset.theme);
    } catch {
      // Then it holds for this page.
    }
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let before = null;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme ?? "";
    root.dataset.theme = "light";
    redraw();
  });
  addEventListener("afterprint", () => {
    if (before) root.dataset.theme = before;
    else delete root.dataset.theme;
    redraw();
  });
}
