// In a sandbox, the script sends calls from the pages of the reference, with the reader's token.
// Nothing stores the token. The pages are complete without the script.
const token = document.getElementById("token");
const credentials = document.getElementById("credentials");
credentials.hidden = false;
credentials.addEventListener("submit", (event) => event.preventDefault());

const address = (form) => {
  const path = form.dataset.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(form.querySelector(`[data-id="${name}"]`).value.trim()));
  const query = form.querySelector("[data-query]").value.trim().replace(/^\?/, "");
  return `/2.0${path}${query && `?${query}`}`;
};

const pretty = (text) => {
  // JSON.parse would change long numbers and trailing zeros, so a text with such numbers stays as
  // it is.
  try {
    return /-?\d{16,}|\d\.\d*0[,}\]\s]/.test(text) ? text : JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};

const send = async (form) => {
  const headers = {};
  if (token.value.trim()) headers.Authorization = `Bearer ${token.value.trim()}`;
  const body = form.querySelector("[data-body]")?.value.trim();
  if (body) headers["Content-Type"] = "application/json";
  const began = performance.now();
  const answer = await fetch(address(form), { method: form.dataset.method, headers, body: body || undefined, credentials: "omit", cache: "no-store" });
  const text = await answer.text();
  return { status: `${answer.status} in ${Math.round(performance.now() - began)} ms`, text: pretty(text) };
};

for (const form of document.querySelectorAll("form.send")) {
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const status = form.querySelector("[data-status]");
    const shown = form.querySelector("[data-answer]");
    status.textContent = "Sending …";
    const { status: line, text } = await send(form).catch(() => ({ status: "The request did not reach the service.", text: "" }));
    status.textContent = line;
    shown.textContent = text;
    shown.hidden = !text;
  });
}
