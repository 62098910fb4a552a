// The script of a waiting page polls after a while, and when the person comes back to the page, for
// example from a bank's app. Until something changes, the page stays as it is. A new page would take
// the focus away, and screen readers would read all of it again. The script first sends a form with
// data-after, without its button, so the service can distinguish the script from a person. The
// script then reads the address in data-next. Without the script, the person presses the button or
// follows the link, or the page reloads.
const waiting = document.querySelector("[data-after]");
const form = waiting.closest("form");
const busy = 30; // seconds until the next poll, when the service is busy
const longest = 60_000; // milliseconds for a response
const most = 4; // polls during which the service may work on the form
const state = { ...waiting.dataset, sends: Boolean(form), working: 0, polling: false, missed: false, leaving: false };
let timer;

// These sentences are only true while this script runs.
document.querySelectorAll("[data-scripted]").forEach((part) => { part.hidden = false; });

// A new page would lose the boxes that the person has ticked on this page.
const ticked = () => [...document.querySelectorAll("input[type=checkbox]")].some((box) => box.checked !== box.defaultChecked);

// textOf returns the text of a page, without the remaining time, without parts that renew copies, and
// without notices about the last act, which the next version of the page no longer has.
const textOf = (page) => {
  const main = page.querySelector("main").cloneNode(true);
  main.querySelectorAll("[data-left], [data-live], .hint").forEach((part) => part.remove());
  return main.textContent.replaceAll(/\s+/g, " ");
};
const shown = textOf(document);

class Busy extends Error {}

// A page that leads somewhere else redirects. The script does not follow, because the address may be
// on another site.
const ask = async (address, options) => {
  const headers = { "Passerelle-Part": "all" };
  const answer = await fetch(address, { ...options, headers, redirect: "manual", cache: "no-store", signal: AbortSignal.timeout?.(longest) });
  if (answer.status >= 500 || answer.status === 429) throw new Busy();
  return answer;
};

// renew copies hidden values, the targets of forms and the parts with data-live from a new version of
// the page.
const renew = (page) => {
  const each = (selector, copy) => {
    const fresh = page.querySelectorAll(selector);
    document.querySelectorAll(selector).forEach((own, i) => {
      if (fresh[i] && fresh[i].name === own.name && !own.isEqualNode(fresh[i])) copy(own, fresh[i]);
    });
  };
  each("main input[type=hidden]", (own, fresh) => own.setAttribute("value", fresh.getAttribute("value") ?? ""));
  each("main form", (own, fresh) => own.setAttribute("action", fresh.getAttribute("action") ?? ""));
  each("[data-live]", (own, fresh) => {
    own.hidden = fresh.hidden;
    own.replaceChildren(...fresh.childNodes);
  });
};

// poll returns how to leave the page, or null without a change. While the service works on the form,
// it responds with a page that waits without a form.
const poll = async () => {
  if (state.sends) {
    const answer = await ask(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
    if (answer.type !== "opaqueredirect") return () => form.requestSubmit();
  }
  const next = state.next || location.pathname + location.search;
  const answer = await ask(next);
  const page = answer.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
  const again = page?.querySelector("[data-after]");
  const same = again && textOf(page) === shown;
  state.working = same ? 0 : state.working + 1;
  if (!same && !(again && form && !again.closest("form") && state.working < most)) return () => location.assign(next);
  if (same) renew(page);
  Object.assign(state, { next: "" }, again.dataset, { sends: Boolean(form && same) });
  return null;
};

const plan = (seconds) => {
  clearTimeout(timer);
  timer = setTimeout(send, 1000 * seconds);
};

// send polls. When the person comes back during a poll, which may have failed meanwhile, another poll
// follows at once.
const send = async () => {
  state.missed = state.polling;
  if (state.polling || state.leaving) return;
  clearTimeout(timer);
  if (document.hidden || ticked()) return plan(state.after);
  state.polling = true;
  let wait = state.after;
  try {
    const leave = await poll();
    if (leave && !state.leaving && !ticked()) return leave();
    wait = state.after;
  } catch (failure) {
    if (failure instanceof Busy) wait = busy;
  } finally {
    state.polling = false;
  }
  plan(state.missed && !document.hidden ? 0 : wait);
};

plan(state.after);
document.addEventListener("visibilitychange", send);
form?.addEventListener("submit", () => { state.leaving = true; });

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
