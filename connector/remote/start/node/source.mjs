// A connector that reads accounts and transactions from a folder.
//
// Each file NAME.csv is an account, with lines of day, amount and wording. It may have blank lines.
// Usage: SECRET=... node source.mjs PORT FOLDER
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { commandLine, serve } from "./protocol.mjs";

const [port, folder] = commandLine();
const profile = {
  uuid: "e3a7c9b2-5d1f-4c7e-8a60-9b2d4f6c8e01", name: "Folder", countries: ["FR"],
  data: { capabilities: ["bank"], account_types: ["checking"] },
};

function accounts() {
  const files = readdirSync(folder).filter((name) => name.endsWith(".csv")).sort().map((name) => basename(name, ".csv"));
  return { accounts: files.map((name) => ({ key: name, name, type: "checking", currency: "EUR" })) };
}

function* read(call) {
  for (const { account, from = "" } of call.accounts ?? []) {
    const lines = readFileSync(join(folder, basename(account) + ".csv"), "utf8").split(/\r?\n/);
    for (const [number, line] of lines.entries()) {
      if (line === "") continue;
      const [date, value, ...wording] = line.split(",");
      if (wording.length === 0) { // the stream ends too early, so Passerelle sees that the read has failed
        console.error(`${account}.csv, line ${number + 1}: must have a day, an amount and a wording`);
        return;
      }
      if (date >= from) yield { account, transactions: [{ key: String(number), date, value, wording: wording.join(",") }] };
    }
    yield { account, read: true, from };
  }
  yield { end: {} };
}

serve(port, { profile: () => profile, accounts, read });
