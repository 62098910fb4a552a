import sys, json
from email.message import Message

for case in json.load(sys.stdin):
    headers = Message()
    for name, value in case["headers"]:
        headers[name] = value
    now = datetime.fromtimestamp(case["now"], timezone.utc)
    try:
        payload = verify(case["secret"], case["path"], headers, base64.b64decode(case["body"]), now)
        print(case["name"], hashlib.sha256(payload).hexdigest(), sep="\t")
    except Exception:
        print(case["name"], "refused", sep="\t")
