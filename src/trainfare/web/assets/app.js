// What every page does in the browser. Pages are complete without it: this adds charts, keys, copying and turning pages in place.
import "htmx.org/dist/htmx.esm.js";
import { keys } from "./keys.js";
import { panels } from "./panels.js";
import { theme } from "./colours.js";

let charts = null;

/** Draw the charts of what is on the page now; the chart library comes only if there are any. */
async function draw() {
  const holders = document.querySelectorAll(".chart[data-of]:not([data-drawn])");
  if (!holders.length) return;
  charts ??= await import("./charts.js");
  for (const holder of holders) charts.draw(holder);
  document.documentElement.dataset.drawn = "yes";
}

/** Filters take effect when they are chosen; a form stays what it is for those without scripts. */
function chosen(event) {
  const form = event.target.closest("form[data-live]");
  if (form && event.target.matches("select, input[type=checkbox]")) form.requestSubmit();
}

/** Fields that say nothing stay out of the address, so that a link is short and says what it means. */
function tidy(event) {
  for (const [name, value] of [...event.formData.entries()]) if (value === "") event.formData.delete(name);
}

function arrived() {
  charts?.forget();
  draw();
}

document.addEventListener("change", chosen);
document.addEventListener("formdata", tidy);
document.addEventListener("htmx:after:settle", arrived);
document.addEventListener("htmx:after:restore", arrived);
document.addEventListener("click", (event) => {
  const done = event.target.closest(".menu a[download]");
  for (const menu of document.querySelectorAll("details.menu[open]")) if (done || !menu.contains(event.target)) menu.open = false;
});
keys();
panels(() => charts);
theme(() => charts?.again());
draw();
