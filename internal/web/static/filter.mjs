// The script shows only those items of a long list that contain the typed text or are ticked. The
// form therefore never sends a hidden item. The search ignores accents and case. Without the
// script, the page shows the whole list.

// Unicode does not decompose these letters. The variable of the same name in
// internal/webview/chooser/chooser.go has the same letters.
const whole = {
  æ: "ae", œ: "oe", ß: "ss", þ: "th", ð: "d", đ: "d", ø: "o", ł: "l", ħ: "h", ı: "i", ĸ: "k", ŋ: "n", ŧ: "t", ə: "e",
  ɛ: "e", ɨ: "i", ɔ: "o", ɓ: "b", ɲ: "n", ƒ: "f", ɣ: "g", ɖ: "d", ɗ: "d", ƙ: "k", ʉ: "u", ǝ: "e", ƴ: "y", ʔ: "",
};

const plain = (text) =>
  text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase()
    .replace(/[^\x00-\x7f]/gu, (character) => whole[character] ?? character);

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
  // Otherwise, the key Enter would submit the form around the field.
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
  });
}
