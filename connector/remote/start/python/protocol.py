"""The connector protocol over HTTP: signatures, responses and streams."""
import hashlib, hmac, json, os, pathlib, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ.get("SECRET", "").encode()  # 32 to 256 characters, the same secret as at Passerelle
seen, lock = {}, threading.Lock()


def command_line():
    """Returns the port and the folder of the command line."""
    if len(sys.argv) == 3 and sys.argv[1].isdigit() and pathlib.Path(sys.argv[2]).is_dir() and 32 <= len(SECRET) <= 256:
        return int(sys.argv[1]), pathlib.Path(sys.argv[2])
    print("usage: SECRET=... python3 %s PORT FOLDER; SECRET has 32 to 256 characters, and FOLDER exists" % sys.argv[0],
          file=sys.stderr)
    sys.exit(2)


def signature(*parts, body=b""):
    return hmac.new(SECRET, "".join(part + "\n" for part in parts).encode() + body, hashlib.sha256)


def is_new(stamp, nonce):
    """Refuses old and repeated requests."""
    now = time.time()
    with lock:
        for old in [n for n, until in seen.items() if until < now]:
            del seen[old]
        if not stamp.isdigit() or abs(now - int(stamp)) > 300 or not nonce or nonce in seen:
            return False
        seen[nonce] = now + 600
        return True


def serve(port, calls, page=None):
    """Serves the calls by their names, and the page. A call receives the body, and returns a response
    or yields a stream. The page receives the path and the form of a browser's request. The form is
    None for a GET. The page returns HTML, or an address to redirect to."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if not self.path.startswith("/v1/"):
                return self.show(body.decode())
            stamp, nonce = self.headers.get("Passerelle-Timestamp", ""), self.headers.get("Passerelle-Nonce", "")
            right = signature("request", "POST", self.path, stamp, nonce, body=body).hexdigest()
            if not hmac.compare_digest(right, self.headers.get("Passerelle-Signature", "")) or not is_new(stamp, nonce):
                return self.send_error(401)
            call = calls.get(self.path[len("/v1/"):])
            if call is None:
                return self.send_error(404)
            answer = call(json.loads(body))
            if not isinstance(answer, dict):
                return self.stream(answer, nonce)
            raw = json.dumps(answer).encode()
            self.start(200, {"Content-Type": "application/json", "Content-Length": str(len(raw)),
                             "Passerelle-Signature": signature("answer", "200", nonce, body=raw).hexdigest()})
            self.wfile.write(raw)

        def do_GET(self):
            self.show(None)

        def show(self, form):
            answer = page(self.path, form) if page else None
            if answer is None:
                return self.send_error(404)
            if answer.startswith("http"):
                return self.start(303, {"Location": answer})
            self.start(200, {"Content-Type": "text/html; charset=utf-8"})
            self.wfile.write(answer.encode())

        def start(self, status, headers):
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()

        def stream(self, records, nonce):
            self.start(200, {"Content-Type": "application/x-ndjson"})
            signed = signature("answer", "200", nonce)
            try:
                for record in records:
                    line = json.dumps(record).encode() + b"\n"
                    signed.update(line)
                    self.wfile.write(line)
                self.wfile.write(json.dumps({"signature": signed.hexdigest()}).encode() + b"\n")
            except ConnectionError:
                pass  # the reader is gone

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
