// This script updates the console's pages while they are open. Every page works without the script.

// The script requests the live part again from the address of the page. It asks less often while
// nothing changes. It does not ask while the page is hidden, while the user selects a text in the
// live part, or when the user has not touched the page for a long time. An update keeps the focus,
// the scroll position and the open details.
const live = document.querySelector("[data-live]");
const said = document.getElementById("said");
const shortest = 1000 * (live?.dataset.live ?? 5);
const longest = 60_000;
const patience = 30 * 60_000;
let tag = "";
let wait = shortest;
let touched = Date.now();
let timer = 0;

const say = (text) => {
  said.textContent = "";
  requestAnimationFrame(() => { said.textContent = text; });
};

const name = (element) => `${element.tagName} ${element.getAttribute("href") ?? element.id} ${element.textContent.trim()}`;

// Buttons that copy a text are visible only if the browser has a clipboard.
const offerCopies = () => {
  for (const button of document.querySelectorAll("button[data-copy]")) button.hidden = !navigator.clipboard;
};

const selecting = () => {
  const selection = getSelection();
  return !selection.isCollapsed && live.contains(selection.anchorNode);
};

// fold returns the key of a details element: the nearest id, and the position of the element there.
const fold = (part) => {
  const near = part.closest("[id]") ?? live;
  return `${near.id} ${[...near.querySelectorAll("details")].indexOf(part)}`;
};

// timeless removes ages, open attributes and the marks of copy buttons, which are not changes.
const timeless = (html) => html.replace(/(<time [^>]*>)[^<]*/g, "$1").replace(/ (hidden|open|data-copied)=""/g, "");

const renew = (text) => {
  const fresh = document.createElement("template");
  fresh.innerHTML = text;
  const changed = timeless(fresh.innerHTML) !== timeless(live.innerHTML);
  const opened = new Map([...live.querySelectorAll("details")].map((part) => [fold(part), part.open]));
  const focused = live.contains(document.activeElement) ? name(document.activeElement) : "";
  const places = [...live.querySelectorAll(".sideways")].map((region) => region.scrollLeft);
  live.replaceChildren(fresh.content);
  live.querySelectorAll(".sideways").forEach((region, n) => { region.scrollLeft = places[n] ?? 0; });
  live.querySelectorAll("details").forEach((part) => { part.open = opened.get(fold(part)) ?? part.open; });
  offerCopies();
  if (focused) {
    const again = [...live.querySelectorAll("a, button, summary, [tabindex]")].find((one) => name(one) === focused);
    again?.focus({ preventScroll: true });
  }
  if (changed) say(live.querySelector("[data-said]")?.dataset.said ?? "This page has changed.");
  return changed;
};

const look = async () => {
  if (selecting()) return wait;
  const headers = { "Passerelle-Part": "live" };
  if (tag) headers["If-None-Match"] = tag;
  const answer = await fetch(location.href, { headers, redirect: "error", cache: "no-store" });
  if (answer.status === 304) return Math.min(1.5 * wait, longest);
  if (answer.status >= 500) return Math.min(2 * wait, longest);
  if (!answer.ok) return 0;
  tag = answer.headers.get("ETag") ?? "";
  return renew(await answer.text()) ? shortest : wait;
};

const plan = (soon) => {
  clearTimeout(timer);
  if (document.hidden || wait === 0 || Date.now() - touched > patience) return;
  timer = setTimeout(async () => {
    // If look throws, for example because the session has ended, the page stays and the script
    // stops asking.
    wait = await look().catch(() => 0);
    plan(wait);
  }, soon);
};

if (live) {
  plan(wait);
  document.addEventListener("visibilitychange", () => plan(0));
  for (const kind of ["pointerdown", "keydown"]) {
    addEventListener(kind, () => {
      const asleep = Date.now() - touched > patience;
      touched = Date.now();
      if (asleep) plan(0);
    }, { passive: true });
  }
}

// A form with data-busy shows a progress bar as soon as the user submits the form.
for (const form of document.querySelectorAll("form[data-busy]")) {
  form.addEventListener("submit", (event) => {
    if (event.defaultPrevented) return;
    const bar = document.createElement("div");
    bar.className = "progress";
    form.append(bar);
    say(form.dataset.busy);
    // The browser does not send the value of a button that is already disabled.
    setTimeout(() => form.querySelectorAll("button").forEach((one) => { one.disabled = true; }));
  });
}
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

// During a download, the page shows the size so far. The browser saves only a complete file.
const keep = (parts, type, file) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(parts, { type }));
  link.download = file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
};

const receive = async (answer, tell) => {
  const parts = [];
  let size = 0;
  for (const reader = answer.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) return parts;
    parts.push(value);
    size += value.length;
    tell(size);
  }
};

const download = async (address, body, output) => {
  const answer = await fetch(address, { method: "POST", body });
  const type = answer.headers.get("Content-Type") ?? "";
  if (!answer.ok || !type.startsWith("text/csv")) throw new Error("no file");
  const kilobytes = (size) => `${Math.ceil(size / 1024).toLocaleString("en")} kB`;
  let told = 0;
  const parts = await receive(answer, (size) => {
    output.textContent = `${kilobytes(size)} so far …`;
    if (Date.now() - told > 5000) { told = Date.now(); say(output.textContent); }
  });
  const file = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition") ?? "")?.[1] ?? "payments.csv";
  keep(parts, type, file);
  output.textContent = `${kilobytes(parts.reduce((sum, part) => sum + part.length, 0))} saved.`;
  say(output.textContent);
};

for (const form of document.querySelectorAll("form[data-download]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const output = form.querySelector("output");
    const buttons = form.querySelectorAll("button");
    // FormData omits the value of a disabled button, so the script reads the form first.
    const body = new URLSearchParams(new FormData(form, event.submitter));
    buttons.forEach((one) => { one.disabled = true; });
    output.textContent = "Asking …";
    await download(form.action, body, output).catch(() => {
      output.textContent = "The download was interrupted, and nothing was saved. Try again.";
      say(output.textContent);
    });
    buttons.forEach((one) => { one.disabled = false; });
  });
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  const text = document.getElementById(button.dataset.copy).textContent;
  const copied = await navigator.clipboard.writeText(text).then(() => true, () => false);
  say(copied ? "Copied." : "Could not be copied. Select the text instead.");
  if (!copied) return;
  button.dataset.copied = "";
  setTimeout(() => { delete button.dataset.copied; }, 3000);
});
offerCopies();

// The key "/" moves the focus to the search box, except in a field for input.
const find = document.getElementById("find");
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, [contenteditable]")) return;
  if (!find) return;
  event.preventDefault();
  find.focus();
  find.select();
});
