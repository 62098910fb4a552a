// Shows only those items of a long list whose text contains what was typed,
// accents and case apart, and which are in the country that was chosen, where one
// can be; and the one that the person has chosen: nothing is ever sent that cannot
// be seen. One that the page proposed is given up when it is searched past.
// Without it the whole list is there to be read, or the service does the same when
// a form around the field is sent: what the one needs is hidden, the other shown.
const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

for (const field of document.querySelectorAll("[data-filter]")) {
  const list = document.getElementById(field.dataset.filter);
  const none = document.querySelector(`[data-filter-none="${field.dataset.filter}"]`);
  const country = document.querySelector(`[data-filter-country="${field.dataset.filter}"]`);
  const items = [...list.children];
  const apply = () => {
    const wanted = plain(field.value.trim());
    let found = 0;
    for (const item of items) {
      const there = !country?.value || item.dataset.countries.split(" ").includes(country.value);
      const fits = there && plain(item.textContent).includes(wanted);
      const chosen = item.querySelector(":checked");
      if (chosen?.defaultChecked && !fits) chosen.checked = false;
      item.hidden = !fits && !chosen?.checked;
      found += fits ? 1 : 0;
    }
    none.hidden = found > 0;
  };
  field.closest("[hidden]")?.removeAttribute("hidden");
  for (const button of document.querySelectorAll(`[data-filter-button="${field.dataset.filter}"]`)) button.hidden = true;
  field.addEventListener("input", apply);
  country?.addEventListener("input", apply);
  // Enter in the field would send the form with the bank chosen by accident.
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
  });
}
