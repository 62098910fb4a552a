// Older programs put the person's code behind the # of the address. Browsers do not send this part,
// so the script sends the code with a form. The address of the next page has no code.
const form = document.querySelector("form[data-handover]");
const code = location.hash.slice(1);
if (form && code) {
  form.elements.code.value = code;
  form.requestSubmit();
}

// The page is for a person without a user. A second click before the response would create a second
// user and a second connection.
for (const one of document.querySelectorAll('form[method="post"]')) {
  one.addEventListener("submit", () => {
    // The browser does not send the value of a button that is already disabled.
    setTimeout(() => one.querySelectorAll("button").forEach((button) => { button.disabled = true; }));
  });
}
// Reload a page that the browser restores from its cache.
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
