// Old programs put the code of a person behind the # of an address, which no
// browser sends. It is handed over by the form that asks for it. An address whose
// code was handed over has none any more.
const form = document.querySelector("form[data-handover]");
const code = location.hash.slice(1);
if (form && code) {
  form.elements.code.value = code;
  form.requestSubmit();
}

// The page is for a newcomer. A second click before the answer would make a second
// user and a second connection.
for (const one of document.querySelectorAll('form[method="post"]')) {
  one.addEventListener("submit", () => {
    // A button that is disabled at once would not be sent.
    setTimeout(() => one.querySelectorAll("button").forEach((button) => { button.disabled = true; }));
  });
}
// A page that the browser kept and shows again has to begin anew.
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
