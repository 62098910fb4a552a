#!/usr/bin/env python3
"""A connector that reads accounts and transactions from a folder.

Each file NAME.csv is an account, with lines of day, amount and wording.
Usage: SECRET=... folder.py PORT FOLDER
"""
import csv, hashlib, hmac, json, os, pathlib, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET, FOLDER = os.environ["SECRET"].encode(), pathlib.Path(sys.argv[2])
PROFILE = {
    "uuid": "5b0c1d7e-0f5c-4b57-9d5e-6f1f6a1f4b10", "name": "Folder", "countries": ["FR"],
    "data": {"capabilities": ["bank"], "account_types": ["checking"]},
}
seen = {}


def signature(*parts, body):
    return hmac.new(SECRET, "".join(p + "\n" for p in parts).encode() + body, hashlib.sha256).hexdigest()


def accounts(call):
    files = sorted(FOLDER.glob("*.csv"))
    return {"accounts": [{"key": f.stem, "name": f.stem, "type": "checking", "currency": "EUR"} for f in files]}


def read(call):
    for wanted in call.get("accounts", []):
        name, first = wanted["account"], wanted.get("from", "")
        with open(FOLDER / (pathlib.Path(name).name + ".csv"), newline="") as file:
            for number, (day, amount, wording) in enumerate(csv.reader(file)):
                if day >= first:
                    yield {"account": name, "transactions": [
                        {"key": str(number), "date": day, "value": amount, "wording": wording}]}
        yield {"account": name, "read": True, "from": first}
    yield {"end": {}}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        stamp, nonce = self.headers.get("Passerelle-Timestamp", ""), self.headers.get("Passerelle-Nonce", "")
        right = signature("request", "POST", self.path, stamp, nonce, body=body)
        now = time.time()
        for old in [n for n, until in list(seen.items()) if until < now]:
            seen.pop(old, None)
        genuine = hmac.compare_digest(right, self.headers.get("Passerelle-Signature", ""))
        if not genuine or abs(now - int(stamp)) > 300 or seen.setdefault(nonce, now + 600) != now + 600:
            return self.send_error(401)
        call, name = json.loads(body), self.path.rsplit("/", 1)[-1]
        if name == "read":
            return self.stream(read(call), nonce)
        if name not in ("profile", "accounts"):
            return self.send_error(404)
        answer = json.dumps(PROFILE if name == "profile" else accounts(call)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.send_header("Passerelle-Signature", signature("answer", "200", nonce, body=answer))
        self.end_headers()
        self.wfile.write(answer)

    def stream(self, records, nonce):
        self.send_response(200)
        self.end_headers()
        sum = hmac.new(SECRET, f"answer\n200\n{nonce}\n".encode(), hashlib.sha256)
        for record in records:
            line = (json.dumps(record) + "\n").encode()
            sum.update(line)
            self.wfile.write(line)
        self.wfile.write((json.dumps({"signature": sum.hexdigest()}) + "\n").encode())

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print(server.server_port, flush=True)
server.serve_forever()
