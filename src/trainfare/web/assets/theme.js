// Runs before the page is painted: which colours, and that charts may be drawn. `?theme=dark` is for links and walls.
const asked = new URLSearchParams(location.search).get("theme");
let kept = null;
try {
  kept = localStorage.getItem("theme");
} catch {
  // Storage may be forbidden; then the system's choice stands.
}
const chosen = [asked, kept].find((name) => name === "light" || name === "dark");
if (chosen) document.documentElement.dataset.theme = chosen;
document.documentElement.classList.add("js");
