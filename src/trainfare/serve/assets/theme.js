// Runs before the first paint: apply the theme and mark that scripts run. `?theme=dark` is for links and wall displays.
const requested = new URLSearchParams(location.search).get("theme");
let stored = null;
try {
  stored = localStorage.getItem("theme");
} catch {
  // Storage may be disabled; then the system setting applies.
}
const theme = [requested, stored].find((name) => name === "light" || name === "dark");
if (theme) document.documentElement.dataset.theme = theme;
document.documentElement.classList.add("js");
