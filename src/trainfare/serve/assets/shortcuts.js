// Keyboard shortcuts: `/` focuses the search, `g` and a letter opens a page, `?` lists them.

let awaitsLetter = false;

const isTyping = (event) => event.target.closest?.("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey;

function pressed(event) {
  if (event.key === "Escape") {
    for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = false;
    if (event.target.matches?.(".find input")) event.target.blur();
    return;
  }
  if (isTyping(event)) return;
  if (awaitsLetter) {
    awaitsLetter = false;
    document.querySelector(`.nav a[data-key="${CSS.escape(event.key)}"]`)?.click();
  } else if (event.key === "/") {
    event.preventDefault();
    document.querySelector(".find input")?.select();
  } else if (event.key === "?") {
    document.querySelector("#shortcuts")?.showModal();
  } else if (event.key === "g") {
    awaitsLetter = true;
    setTimeout(() => (awaitsLetter = false), 1500);
  }
}

export function listenForShortcuts() {
  document.addEventListener("keydown", pressed);
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-shortcuts]")) document.querySelector("#shortcuts")?.showModal();
  });
}
