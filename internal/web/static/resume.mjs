// The script submits the form of a waiting page after a while, and when the person comes back to
// the page, for example from a bank's app. It submits the form without a button, so the service can
// distinguish the script from a person. Without the script, the person presses the button.
const form = document.querySelector("form[data-after]");
let sent = false;
// A new page would lose the boxes that the person has ticked on this page.
const ticked = () => [...document.querySelectorAll("input[type=checkbox]")].some((box) => box.checked !== box.defaultChecked);
const send = () => {
  if (document.hidden || sent || ticked()) return;
  sent = true;
  form.requestSubmit();
};

setTimeout(send, 1000 * form.dataset.after);
document.addEventListener("visibilitychange", send);
form.addEventListener("submit", () => { sent = true; });
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
