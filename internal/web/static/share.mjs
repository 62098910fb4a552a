// The script shows the number of ticked items on the button, and ticks all items or no items.
// Without the script, the button shows the number of items that were ticked when the page opened,
// and the links open another page.
const button = document.querySelector("button[data-share]");
const boxes = (name) => [...document.querySelectorAll(`input[type=checkbox][name=${name}]`)];
const number = (count, one, many) => (count === 1 ? one : many.replace("%d", count));

const count = () => {
  if (!button) return;
  const text = button.dataset;
  const accounts = boxes("account").filter((box) => box.checked).length;
  const contracts = boxes("subscription").filter((box) => box.checked).length;
  const parts = [];
  if (accounts) parts.push(number(accounts, text.account, text.accounts));
  if (contracts) parts.push(number(contracts, text.contract, text.contracts));
  const things = parts.length === 2 ? text.and.replace("%[1]s", parts[0]).replace("%[2]s", parts[1]) : parts[0];
  button.textContent = things ? text.share.replace("%s", things) : text.nothing;
};

for (const link of document.querySelectorAll("[data-pick]")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    for (const box of [...boxes("account"), ...boxes("subscription")]) {
      // The link that ticks all items does not tick items that a search hides.
      if (!link.dataset.pick || !box.closest("[hidden]")) box.checked = Boolean(link.dataset.pick);
    }
    count();
  });
}
document.addEventListener("change", count);
addEventListener("pageshow", count);
count();
