// Old programs put the code of a person behind the # of an address, which no
// browser sends. It is handed over by the form that asks for it. An address whose
// code was handed over has none any more.
const form = document.querySelector("form[data-handover]");
const code = location.hash.slice(1);
if (form && code) {
  form.elements.code.value = code;
  form.requestSubmit();
}
