// What a panel's menu does: a link to it, its picture.

function say(text) {
  document.querySelector(".toast")?.remove();
  const toast = Object.assign(document.createElement("div"), { className: "toast", textContent: text });
  toast.setAttribute("role", "status");
  document.body.append(toast);
  setTimeout(() => toast.remove(), 2500);
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    say("Link copied");
  } catch {
    prompt("Copy this link", text);
  }
}

function keep(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function panels(charts) {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy], [data-png]");
    if (!button) return;
    button.closest("details.menu")?.removeAttribute("open");
    if ("copy" in button.dataset) copy(new URL(button.dataset.copy || location.href, location.href).href);
    else charts()?.picture(document.getElementById(button.dataset.png), (blob) => keep(blob, `${button.dataset.name}.png`));
  });
}
