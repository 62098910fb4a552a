// While a person types, the script requests the list again, and replaces the list on the page.
// Without the script, the person submits the form with the button.
const field = document.querySelector("[data-search]");
const form = field.form;
let waiting, latest = 0;
form.querySelector("button").hidden = true;

// renew replaces a list, except its first part, which has the status. Screen readers announce a new
// text in a status, but not a new status.
const renew = (list, found) => {
  const [head, ...old] = list.children;
  const [fresh, ...rest] = found.children;
  head.querySelector("[role=status]").textContent = fresh.querySelector("[role=status]").textContent;
  head.querySelector("a")?.replaceWith(fresh.querySelector("a") ?? "");
  old.forEach((part) => part.remove());
  list.append(...rest);
};

const ask = async () => {
  const mine = ++latest;
  const address = `${form.action}?${new URLSearchParams(new FormData(form))}`;
  const text = await fetch(address).then((answer) => answer.text()).catch(() => "");
  const page = new DOMParser().parseFromString(text, "text/html");
  const found = page.getElementById(field.dataset.search);
  // Ignore the response to an older request. When a response has no list, submit the form.
  if (mine !== latest) return;
  if (!found?.querySelector("[role=status]")) return form.submit();
  renew(document.getElementById(field.dataset.search), found);
  document.querySelector("footer").replaceWith(page.querySelector("footer")); // its links to other languages keep the search
  history.replaceState(null, "", address);
};

field.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(ask, 150);
});
// On a phone, the key Enter hides the keyboard, so that the person sees the list.
form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(waiting);
  ask();
  field.blur();
});
