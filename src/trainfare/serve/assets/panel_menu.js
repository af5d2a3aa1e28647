// The menu of a panel: copy a link to it, save its chart as a PNG.

export function showToast(text) {
  document.querySelector(".toast")?.remove();
  const toast = Object.assign(document.createElement("div"), { className: "toast", textContent: text });
  toast.setAttribute("role", "status");
  document.body.append(toast);
  setTimeout(() => toast.remove(), 2500);
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    showToast(`${what} copied`);
  } catch {
    prompt(`Copy: ${what}`, text);
  }
}

function download(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** `charts` returns the chart module once it is loaded. */
export function listenForPanelMenus(charts) {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy], [data-copy-text], [data-png]");
    if (!button) return;
    button.closest("details.menu")?.removeAttribute("open");
    if ("copy" in button.dataset) copy(new URL(button.dataset.copy || location.href, location.href).href, "Link");
    else if ("copyText" in button.dataset) copy(document.getElementById(button.dataset.copyText).textContent, "Settings");
    else charts()?.toPng(document.getElementById(button.dataset.png), (blob) => download(blob, `${button.dataset.name}.png`));
  });
}
