// The connector protocol over HTTP: signatures, responses and streams.
import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { statSync } from "node:fs";
import { createServer } from "node:http";

const SECRET = process.env.SECRET ?? ""; // 32 to 256 characters, the same secret as at Passerelle
const seen = new Map();

// commandLine returns the port and the folder of the command line.
export function commandLine() {
  const [, program, port, folder] = process.argv;
  const right = /^\d+$/.test(port) && statSync(folder ?? "", { throwIfNoEntry: false })?.isDirectory();
  if (right && SECRET.length >= 32 && SECRET.length <= 256) return [Number(port), folder];
  console.error(`usage: SECRET=... node ${program} PORT FOLDER; SECRET has 32 to 256 characters, and FOLDER exists`);
  process.exit(2);
}

function sign(...parts) {
  return createHmac("sha256", SECRET).update(parts.map((part) => part + "\n").join(""));
}

function equal(a, b) {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}

// isNew reports whether a request is neither old nor repeated.
function isNew(stamp, nonce) {
  const now = Date.now() / 1000;
  for (const [old, until] of seen) if (until < now) seen.delete(old);
  if (!/^\d+$/.test(stamp) || Math.abs(now - stamp) > 300 || !nonce || seen.has(nonce)) return false;
  seen.set(nonce, now + 600);
  return true;
}

async function stream(response, records, nonce) {
  response.writeHead(200, { "Content-Type": "application/x-ndjson" });
  const signed = sign("answer", 200, nonce);
  for await (const record of records) {
    const line = JSON.stringify(record) + "\n";
    signed.update(line);
    if (!response.write(line)) await once(response, "drain");
  }
  response.end(JSON.stringify({ signature: signed.digest("hex") }) + "\n");
}

function show(response, answer) {
  if (answer === undefined) return response.writeHead(404).end();
  if (answer.startsWith("http")) return response.writeHead(303, { Location: answer }).end();
  response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" }).end(answer);
}

// serve serves the calls by their names, and the page. A call receives the body, and returns a
// response or yields a stream. The page receives the path and the form of a browser's request. The
// form is undefined for a GET. The page returns HTML, or an address to redirect to.
export function serve(port, calls, page = () => undefined) {
  const server = createServer(async (request, response) => {
    try {
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      const body = Buffer.concat(chunks);
      if (!request.url.startsWith("/v1/")) {
        return show(response, page(request.url, request.method === "POST" ? body.toString() : undefined));
      }
      const stamp = request.headers["passerelle-timestamp"] ?? "", nonce = request.headers["passerelle-nonce"] ?? "";
      const right = sign("request", "POST", request.url, stamp, nonce).update(body).digest("hex");
      if (!equal(right, request.headers["passerelle-signature"] ?? "") || !isNew(stamp, nonce)) {
        return response.writeHead(401).end();
      }
      const call = calls[request.url.slice("/v1/".length)];
      if (call === undefined) return response.writeHead(404).end();
      const answer = call(JSON.parse(body));
      if (answer[Symbol.asyncIterator] || answer[Symbol.iterator]) return await stream(response, answer, nonce);
      const raw = JSON.stringify(answer);
      response.writeHead(200, { "Content-Type": "application/json", "Passerelle-Signature": sign("answer", 200, nonce).update(raw).digest("hex") });
      response.end(raw);
    } catch (error) {
      console.error(error.message);
      response.destroy(); // the caller sees that the response is incomplete
    }
  });
  server.listen(port, "127.0.0.1", () => console.log(server.address().port));
}
