// Shows only those items of a long list whose text contains what was typed, accents and case
// apart, and those that are ticked: nothing is ever sent that cannot be seen. Without it the
// whole list is there to be read.
const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

for (const field of document.querySelectorAll("[data-filter]")) {
  const list = document.getElementById(field.dataset.filter);
  const none = document.querySelector(`[data-filter-none="${field.dataset.filter}"]`);
  const items = [...list.children];
  field.closest("[hidden]")?.removeAttribute("hidden");
  field.addEventListener("input", () => {
    const wanted = plain(field.value.trim());
    let found = 0;
    for (const item of items) {
      const fits = plain(item.textContent).includes(wanted);
      item.hidden = !fits && !item.querySelector(":checked");
      found += fits ? 1 : 0;
    }
    none.hidden = found > 0;
  });
  // Enter in the field would send the form around it.
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
  });
}
