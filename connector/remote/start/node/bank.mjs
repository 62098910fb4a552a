// A bank that accepts payments and asks the payer for approval on a page. It stores each order in a
// file.
//
// Usage: SECRET=... node bank.mjs PORT FOLDER
// With TEST=1, the bank lets `passerelle connector test` act as the payer.
import { closeSync, existsSync, fsyncSync, openSync, readdirSync, readFileSync, renameSync, writeSync } from "node:fs";
import { join } from "node:path";
import { commandLine, serve } from "./protocol.mjs";

const [port, folder] = commandLine();
const address = process.env.ADDRESS ?? "http://127.0.0.1:" + port; // the address at which browsers reach this program
const profile = {
  uuid: "9d2b7f14-6a3c-4e58-b1c7-0f5e8d3a6b92", name: "Node Bank", countries: ["FR"], sandbox: true, idempotent: true,
  payments: {
    mechanisms: ["webauth"], schemes: ["iban"], date_types: ["first_open_day", "instant"], currencies: ["EUR"],
    payer_account: "not_used", max_instructions: 1,
  },
};

const path = (key) => join(folder, encodeURIComponent(key).replaceAll(".", "%2E") + ".json");
const load = (key) => (existsSync(path(key)) ? JSON.parse(readFileSync(path(key), "utf8")) : undefined);

// store is synchronous. Nothing else runs meanwhile, so an order that arrives twice is stored once.
function store(order) {
  const file = openSync(path(order.key) + ".new", "w");
  writeSync(file, JSON.stringify(order));
  fsyncSync(file);
  closeSync(file);
  renameSync(path(order.key) + ".new", path(order.key));
  return order;
}

function report(order) {
  if (order === undefined) return { error: { kind: "unknownOrder" } };
  const answer = { status: order.status, bank_payment_id: order.key };
  if (order.status === "awaiting") {
    Object.assign(answer, { action: "redirect", validate_uri: address + "/pay/" + encodeURIComponent(order.key) });
  }
  if (order.status === "declined") Object.assign(answer, { code: "CancelledByUser", description: "The payer refused." });
  return { report: answer };
}

function initiate({ order }) {
  const [first] = order.payment.instructions;
  return report(load(order.key) ?? store({
    key: order.key, status: "awaiting", return_url: order.return_url, amount: first.amount, to: first.beneficiary.label,
  }));
}

const escaped = (text) => text.replace(/[&<>"']/g, (letter) => "&#" + letter.charCodeAt(0) + ";");

function page(at, form) {
  const order = at.startsWith("/pay/") ? load(decodeURIComponent(at.slice("/pay/".length))) : undefined;
  if (order === undefined) return undefined;
  if (form === undefined) {
    const buttons = ["approve", "refuse"].map((word) => `<button name=decision value=${word}>${word}</button>`).join("");
    return `<h1>Pay ${escaped(order.amount.value)} ${order.amount.currency} to ${escaped(order.to)}</h1><form method=post>${buttons}</form>`;
  }
  decide(order, new URLSearchParams(form).get("decision") === "approve");
  return order.return_url;
}

function decide(order, approved) {
  if (order.status === "awaiting") store({ ...order, status: approved ? "settled" : "declined" });
}

function test({ act, order }) {
  if (act !== "begin") decide(load(order.key), act === "approve");
  return { orders: readdirSync(folder).filter((name) => name.endsWith(".json")).length };
}

const calls = { profile: () => profile, initiate, status: ({ order }) => report(load(order.key)) };
serve(port, process.env.TEST ? { ...calls, test } : calls, page);
