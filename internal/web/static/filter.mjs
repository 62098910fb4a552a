// Shows only those items of a long list whose text contains what was typed,
// accents and case apart, and the one that is chosen: nothing is ever sent that
// cannot be seen. Without it the whole list is there to be read, so
// the field appears only once this has been loaded.
const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

for (const field of document.querySelectorAll("[data-filter]")) {
  const list = document.getElementById(field.dataset.filter);
  const none = document.querySelector(`[data-filter-none="${field.dataset.filter}"]`);
  const items = [...list.children];
  field.closest("[hidden]").hidden = false;
  field.addEventListener("input", () => {
    const wanted = plain(field.value.trim());
    let left = 0;
    for (const item of items) {
      item.hidden = !plain(item.textContent).includes(wanted) && !item.querySelector(":checked");
      left += item.hidden ? 0 : 1;
    }
    none.hidden = left > 0;
  });
  // Enter in the field would send the form with the bank chosen by accident.
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
  });
}
