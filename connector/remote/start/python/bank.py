"""A bank that accepts payments and asks the payer for approval on a page. It stores each order in a file.

Usage: SECRET=... python3 bank.py PORT FOLDER
With TEST=1, the bank lets `passerelle connector test` act as the payer.
"""
import html, json, os, tempfile, threading, urllib.parse

from protocol import command_line, serve

PORT, FOLDER = command_line()
ADDRESS = os.environ.get("ADDRESS", "http://127.0.0.1:%d" % PORT)  # the address at which browsers reach this program
PROFILE = {
    "uuid": "c1f6a4de-3f3a-4b0b-8f0d-2f7f5a8f1c55", "name": "Python Bank", "countries": ["FR"], "sandbox": True,
    "idempotent": True,
    "payments": {"mechanisms": ["webauth"], "schemes": ["iban"], "date_types": ["first_open_day", "instant"],
                 "currencies": ["EUR"], "payer_account": "not_used", "max_instructions": 1},
}
lock = threading.Lock()


def path(key):
    return FOLDER / (urllib.parse.quote(key, safe="") + ".json")


def load(key):
    return json.loads(path(key).read_text()) if path(key).exists() else None


def store(order):
    with tempfile.NamedTemporaryFile("w", dir=FOLDER, delete=False) as file:
        json.dump(order, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(file.name, path(order["key"]))


def report(order):
    if order is None:
        return {"error": {"kind": "unknownOrder"}}
    answer = {"status": order["status"], "bank_payment_id": order["key"]}
    if order["status"] == "awaiting":
        answer |= {"action": "redirect", "validate_uri": ADDRESS + "/pay/" + urllib.parse.quote(order["key"], safe="")}
    if order["status"] == "declined":
        answer |= {"code": "CancelledByUser", "description": "The payer refused."}
    return {"report": answer}


def initiate(call):
    order = call["order"]
    with lock:  # an order that arrives twice is stored once
        if load(order["key"]) is None:
            first = order["payment"]["instructions"][0]
            store({"key": order["key"], "status": "awaiting", "return_url": order["return_url"],
                   "amount": first["amount"], "to": first["beneficiary"]["label"]})
        return report(load(order["key"]))


def status(call):
    with lock:
        return report(load(call["order"]["key"]))


def page(address, form):
    key = urllib.parse.unquote(address.removeprefix("/pay/"))
    with lock:
        order = load(key) if address.startswith("/pay/") else None
        if order is None:
            return None
        if form is None:
            return "<h1>Pay %s %s to %s</h1><form method=post>%s</form>" % (
                html.escape(order["amount"]["value"]), order["amount"]["currency"], html.escape(order["to"]),
                "".join("<button name=decision value=%s>%s</button>" % (d, d) for d in ("approve", "refuse")))
        decide(order, urllib.parse.parse_qs(form).get("decision") == ["approve"])
        return order["return_url"]


def decide(order, approved):
    if order["status"] == "awaiting":
        order["status"] = "settled" if approved else "declined"
        store(order)


def test(call):
    with lock:
        if call["act"] != "begin":
            decide(load(call["order"]["key"]), call["act"] == "approve")
        return {"orders": len(list(FOLDER.glob("*.json")))}


calls = {"profile": lambda call: PROFILE, "initiate": initiate, "status": status}
if os.environ.get("TEST"):
    calls["test"] = test
serve(PORT, calls, page)
