"""A connector that reads accounts and transactions from a folder.

Each file NAME.csv is an account, with lines of day, amount and wording. It may have blank lines.
Usage: SECRET=... python3 source.py PORT FOLDER
"""
import pathlib, sys

from protocol import command_line, serve

PORT, FOLDER = command_line()
PROFILE = {
    "uuid": "5b0c1d7e-0f5c-4b57-9d5e-6f1f6a1f4b10", "name": "Folder", "countries": ["FR"],
    "data": {"capabilities": ["bank"], "account_types": ["checking"]},
}


def accounts(call):
    return {"accounts": [{"key": file.stem, "name": file.stem, "type": "checking", "currency": "EUR"}
                         for file in sorted(FOLDER.glob("*.csv"))]}


def read(call):
    for wanted in call.get("accounts", []):
        name, first = wanted["account"], wanted.get("from", "")
        with open(FOLDER / (pathlib.Path(name).name + ".csv"), encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file):
                row = line.rstrip("\r\n").split(",", 2)
                if row == [""]:
                    continue
                if len(row) < 3:  # the stream ends too early, so Passerelle sees that the read has failed
                    print("%s, line %d: must have a day, an amount and a wording" % (file.name, number + 1), file=sys.stderr)
                    return
                day, amount, wording = row
                if day >= first:
                    yield {"account": name, "transactions": [
                        {"key": str(number), "date": day, "value": amount, "wording": wording}]}
        yield {"account": name, "read": True, "from": first}
    yield {"end": {}}


serve(PORT, {"profile": lambda call: PROFILE, "accounts": accounts, "read": read})
