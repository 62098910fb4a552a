// Asks the service for the list again while a person types, and shows what it answers in
// place of the list. Without it, the form is sent with its button.
const field = document.querySelector("[data-search]");
const form = field.form;
let waiting, latest = 0;
form.querySelector("button").hidden = true;

const ask = async () => {
  const mine = ++latest;
  const address = `${form.action}?${new URLSearchParams(new FormData(form))}`;
  const text = await fetch(address).then((answer) => answer.text()).catch(() => "");
  const page = new DOMParser().parseFromString(text, "text/html");
  const found = page.getElementById(field.dataset.search);
  // A later question has been asked, or there is no answer, or it is another page: then the form
  // is sent.
  if (mine !== latest) return;
  if (!found) return form.submit();
  document.getElementById(field.dataset.search).replaceWith(found);
  history.replaceState(null, "", address);
};

field.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(ask, 150);
});
// Who presses Enter on a phone wants to see the list, and has it already.
form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(waiting);
  ask();
  field.blur();
});
