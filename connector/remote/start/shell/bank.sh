#!/usr/bin/env bash
# A bank that accepts payments and asks the payer for approval on a page. It stores each order in a
# file.
#
# Usage: SECRET=... bash bank.sh PORT FOLDER
# With TEST=1, the bank lets `passerelle connector test` act as the payer.
. "$(dirname -- "$0")/protocol.sh"

call_profile() {
	cat <<-'END'
		{
		  "uuid": "b86f3d27-94c1-4e6a-a05d-3e17c9a2f840", "name": "Shell Bank", "countries": ["FR"], "sandbox": true, "idempotent": true,
		  "payments": {
		    "mechanisms": ["webauth"], "schemes": ["iban"], "date_types": ["first_open_day", "instant"], "currencies": ["EUR"],
		    "payer_account": "not_used", "max_instructions": 1
		  }
		}
	END
}

# order_file prints the path of the file of the order in the body.
order_file() { jq -r --arg folder "$FOLDER" '"\($folder)/\(.order.key | @uri).json"' "$body"; }

# alone runs a command while no other request changes orders, so that an order that arrives twice is
# stored once.
alone() { (flock 9 && "$@") 9>"$FOLDER/.lock"; }

# store writes its input to the file $1, completely or not at all.
store() {
	cat >"$1.new"
	sync "$1.new"
	mv "$1.new" "$1"
}

report() {
	if [ ! -e "$1" ]; then
		echo '{"error": {"kind": "unknownOrder"}}'
		return
	fi
	jq -c --arg address "${ADDRESS:-http://127.0.0.1:$PORT}" '{report: ({status, bank_payment_id: .key} +
		if .status == "awaiting" then {action: "redirect", validate_uri: "\($address)/pay/\(.key | @uri)"}
		elif .status == "declined" then {code: "CancelledByUser", description: "The payer refused."}
		else {} end)}' "$1"
}

begin() {
	[ -e "$1" ] || jq '.order | {key, status: "awaiting", return_url, amount: .payment.instructions[0].amount,
		to: .payment.instructions[0].beneficiary.label}' "$body" | store "$1"
}

call_initiate() {
	local file
	file=$(order_file)
	alone begin "$file"
	report "$file"
}

call_status() { report "$(order_file)"; }

decide() { # FILE approve|refuse
	local to=declined
	[ "$2" != approve ] || to=settled
	jq --arg to "$to" 'if .status == "awaiting" then .status = $to else . end' "$1" | store "$1"
}

if [ -n "${TEST:-}" ]; then
	call_test() {
		local act
		act=$(jq -r .act "$body")
		[ "$act" = begin ] || alone decide "$(order_file)" "$act"
		find "$FOLDER" -name '*.json' | jq -Rcn '{orders: [inputs] | length}'
	}
fi

show() {
	local file=$FOLDER/${1#/pay/}.json # keys are encoded in addresses as in file names
	if [[ $1 != /pay/* || ${1#/pay/} == */* || ! -e $file ]]; then
		respond '404 Not Found'
	elif [ "$method" = POST ]; then
		alone decide "$file" "$(sed -n 's/^decision=//p' "$body")"
		respond '303 See Other' "Location: $(jq -r .return_url "$file")"
	else
		respond '200 OK' 'Content-Type: text/html; charset=utf-8'
		jq -r '"<h1>Pay \(.amount.value | @html) \(.amount.currency | @html) to \(.to | @html)</h1><form method=post>" +
			"<button name=decision value=approve>approve</button><button name=decision value=refuse>refuse</button></form>"' "$file"
	fi
}

serve "$@"
