// The script of a waiting page polls after a while, and when the person comes back to the page, for
// example from a bank's app. Until something changes, the page stays as it is. A new page would take
// the focus away, and screen readers would read all of it again. The script first sends a form with
// data-after, without its button, so the service can distinguish the script from a person. The
// script then reads the address in data-next. Without the script, the person presses the button, or
// the page reloads.
const waiting = document.querySelector("[data-after]");
const form = waiting.closest("form");
const busy = 30; // seconds until the next poll, when the service did not respond
let polling = false;
let leaving = false;
let timer;

// A new page would lose the boxes that the person has ticked on this page.
const ticked = () => [...document.querySelectorAll("input[type=checkbox]")].some((box) => box.checked !== box.defaultChecked);

// textOf returns the text of a page, without the remaining time.
const textOf = (page) => {
  const main = page.querySelector("main").cloneNode(true);
  main.querySelector("[data-left]")?.remove();
  return main.textContent.replaceAll(/\s+/g, " ");
};
const shown = textOf(document);

// A page that leads somewhere else redirects. The script does not follow, because the address may be
// on another site.
const ask = async (address, options) => {
  const headers = { "Passerelle-Part": "all" };
  const answer = await fetch(address, { ...options, headers, redirect: "manual", cache: "no-store" });
  if (answer.status >= 500 || answer.status === 429) throw new Error("the service is busy");
  return answer;
};

// poll returns how to leave the page, or null without a change.
const poll = async () => {
  if (form) {
    const answer = await ask(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
    if (answer.type !== "opaqueredirect") return () => form.requestSubmit();
  }
  const next = waiting.dataset.next || location.pathname + location.search;
  const answer = await ask(next);
  const page = answer.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
  const again = page?.querySelector("[data-after]");
  if (!again || textOf(page) !== shown) return () => location.assign(next);
  Object.assign(waiting.dataset, again.dataset);
  if (form) form.action = again.action;
  return null;
};

const plan = (seconds) => {
  clearTimeout(timer);
  timer = setTimeout(send, 1000 * seconds);
};

const send = async () => {
  if (polling || leaving) return;
  clearTimeout(timer);
  if (document.hidden || ticked()) return plan(waiting.dataset.after);
  polling = true;
  try {
    const leave = await poll();
    if (leave && !leaving && !ticked()) return leave();
    plan(waiting.dataset.after);
  } catch {
    plan(busy);
  } finally {
    polling = false;
  }
};

plan(waiting.dataset.after);
document.addEventListener("visibilitychange", send);
form?.addEventListener("submit", () => { leaving = true; });
// Reload a page that the browser restores from its cache.
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

// The script calculates the remaining time from the clock, because browsers slow down the timers of
// hidden pages.
const clock = document.querySelector("[data-left]");
const end = Date.now() + 1000 * clock?.dataset.left;
const show = () => {
  const left = Math.max(0, Math.round((end - Date.now()) / 1000));
  clock.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
};
if (clock) setInterval(show, 1000);
