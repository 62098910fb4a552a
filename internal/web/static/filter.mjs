// Shows only those items of a long list whose text contains what was typed,
// accents and case apart, and the one that the person has chosen: nothing is ever
// sent that cannot be seen. One that the page proposed is given up when it is
// searched past. Without it the whole list is there to be read, so
// the field appears only once this has been loaded.
const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

for (const field of document.querySelectorAll("[data-filter]")) {
  const list = document.getElementById(field.dataset.filter);
  const none = document.querySelector(`[data-filter-none="${field.dataset.filter}"]`);
  const items = [...list.children];
  field.closest("[hidden]").hidden = false;
  field.addEventListener("input", () => {
    const wanted = plain(field.value.trim());
    let found = 0;
    for (const item of items) {
      const fits = plain(item.textContent).includes(wanted);
      const chosen = item.querySelector(":checked");
      if (chosen?.defaultChecked && !fits) chosen.checked = false;
      item.hidden = !fits && !chosen?.checked;
      found += fits ? 1 : 0;
    }
    none.hidden = found > 0;
  });
  // Enter in the field would send the form with the bank chosen by accident.
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
  });
}
