// Sends the form of a waiting page after a while, or when the person comes back
// to the page from elsewhere, such as the app of a bank. It presses no button, so
// that the service can tell the two apart. Without it, the button is there.
const form = document.querySelector("form[data-after]");
let sent = false;
// A new page would lose what the person has ticked on this one.
const ticked = () => [...document.querySelectorAll("input[type=checkbox]")].some((box) => box.checked !== box.defaultChecked);
const send = () => {
  if (document.hidden || sent || ticked()) return;
  sent = true;
  form.requestSubmit();
};

setTimeout(send, 1000 * form.dataset.after);
document.addEventListener("visibilitychange", send);
form.addEventListener("submit", () => { sent = true; });
// A page that the browser kept and shows again has to begin anew.
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

// The time that is left runs, measured and not counted: browsers slow down the
// clocks of pages that nobody looks at.
const clock = document.querySelector("[data-left]");
const end = Date.now() + 1000 * clock?.dataset.left;
const show = () => {
  const left = Math.max(0, Math.round((end - Date.now()) / 1000));
  clock.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
};
if (clock) setInterval(show, 1000);
