#!/usr/bin/env bash
# A connector that reads accounts and transactions from a folder.
#
# Each file NAME.csv is an account, with lines of day, amount and wording. It may have blank lines.
# Usage: SECRET=... bash source.sh PORT FOLDER
. "$(dirname -- "$0")/protocol.sh"

call_profile() {
	cat <<-'END'
		{
		  "uuid": "2f9a6e41-c803-4d7b-b6f2-85d0e3c7a91b", "name": "Folder", "countries": ["FR"],
		  "data": { "capabilities": ["bank"], "account_types": ["checking"] }
		}
	END
}

call_accounts() {
	find "$FOLDER" -maxdepth 1 -name '*.csv' -printf '%f\n' | LC_ALL=C sort |
		jq -Rcn '{accounts: [inputs | rtrimstr(".csv") | {key: ., name: ., type: "checking", currency: "EUR"}]}'
}

call_read() {
	local account from
	while IFS=$'\t' read -r account from; do
		jq -Rcn --arg account "$account" --arg from "$from" '
			(foreach inputs as $line (0; . + 1; . as $number | $line | rtrimstr("\r") | select(. != "") | split(",") |
				if length < 3 then error("\($account).csv, line \($number): must have a day, an amount and a wording") else . end |
				select(.[0] >= $from) |
				{$account, transactions: [{key: "\($number - 1)", date: .[0], value: .[1], wording: (.[2:] | join(","))}]})),
			({$account, read: true} + if $from == "" then {} else {$from} end)' "$FOLDER/${account##*/}.csv"
	done < <(jq -r '.accounts[]? | [.account, .from // ""] | @tsv' "$body")
	echo '{"end":{}}'
}

serve "$@"
