// Scripts of every page. Pages work without them; they add charts, shortcuts, copying and navigation without reloads.
import "htmx.org/dist/htmx.esm.js";
import { listenForThemeChanges } from "./colors.js";
import { listenForPanelMenus, showToast } from "./panel_menu.js";
import { listenForShortcuts } from "./shortcuts.js";

let charts = null;

/** Draw the charts of the current page; the chart library is loaded only if there are any. */
async function drawCharts() {
  const containers = document.querySelectorAll(".chart[data-source]:not([data-drawn])");
  if (!containers.length) return;
  charts ??= await import("./charts.js");
  for (const container of containers) charts.draw(container);
  document.documentElement.dataset.drawn = "yes";
}

/** Filters take effect when they change; without scripts, their form has a button. */
function submitOnChange(event) {
  const form = event.target.closest("form[data-submit-on-change]");
  if (form && event.target.matches("select, input[type=checkbox]")) form.requestSubmit();
}

/** Empty fields stay out of the URL, so that links are short. */
function omitEmptyFields(event) {
  for (const [name, value] of [...event.formData.entries()]) if (value === "") event.formData.delete(name);
}

function requireSelection(event) {
  if (event.target.id !== "selection" || event.target.querySelector("input[name=pick]:checked")) return;
  event.preventDefault();
  event.stopPropagation();
  showToast("Select jobs to compare first");
}

function closeMenus(event) {
  const isDone = event.target.closest(".menu a[download]");
  for (const menu of document.querySelectorAll("details.menu[open]")) if (isDone || !menu.contains(event.target)) menu.open = false;
}

function pageChanged() {
  charts?.disposeRemoved();
  drawCharts();
}

document.addEventListener("change", submitOnChange);
document.addEventListener("formdata", omitEmptyFields);
document.addEventListener("submit", requireSelection, true);
document.addEventListener("htmx:after:settle", pageChanged);
document.addEventListener("htmx:after:restore", pageChanged);
document.addEventListener("click", closeMenus);
listenForShortcuts();
listenForPanelMenus(() => charts);
listenForThemeChanges(() => charts?.redrawAll());
drawCharts();
