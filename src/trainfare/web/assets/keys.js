// The keyboard: `/` finds, `g` and a letter goes somewhere, `?` tells.

let waiting = false;

const typing = (event) => event.target.closest?.("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey;

export function keys() {
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = false;
      if (event.target.matches?.(".find input")) event.target.blur();
      return;
    }
    if (typing(event)) return;
    if (waiting) {
      waiting = false;
      document.querySelector(`.nav a[data-key="${CSS.escape(event.key)}"]`)?.click();
    } else if (event.key === "/") {
      event.preventDefault();
      document.querySelector(".find input")?.select();
    } else if (event.key === "?") {
      document.querySelector("#keys")?.showModal();
    } else if (event.key === "g") {
      waiting = true;
      setTimeout(() => (waiting = false), 1500);
    }
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-keys]")) document.querySelector("#keys")?.showModal();
  });
}
