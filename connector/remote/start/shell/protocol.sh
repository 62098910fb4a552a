# The connector protocol over HTTP: signatures, answers and streams. It needs bash, socat and jq.
#
# A connector calls serve "$@" at its end, with PORT FOLDER. Each request then runs the connector
# again, with the request on its standard input. It calls the function call_NAME, with the body in
# the file $body. The function writes the answer. Only call_read writes the lines of a stream.
set -euo pipefail

hex() { od -An -v -tx1 | tr -d ' \n'; }

# padded writes the secret as a block of 64 bytes, each XORed with $1, in the notation of printf %b.
padded() {
	local key i byte
	key=$(printf %s "$SECRET" | hex)
	[ ${#key} -le 128 ] || key=$(printf %s "$SECRET" | sha256sum | cut -d' ' -f1)
	for ((i = 0; i < 128; i += 2)); do
		byte=${key:i:2}
		printf '\\x%02x' $((0x${byte:-0} ^ $1))
	done
}

# sign writes the HMAC-SHA256 of its input. The secret is never an argument of another program,
# because other users could see it.
sign() {
	local sum
	sum=$({ printf %b "$INNER" && cat; } | sha256sum | sed 's/ .*//; s/../\\x&/g')
	printf %b "$OUTER$sum" | sha256sum | cut -d' ' -f1
}

respond() { # STATUS HEADER...
	printf 'HTTP/1.1 %s\r\n' "$1"
	shift
	printf '%s\r\n' 'Connection: close' "$@" ''
}

# is_new refuses old and repeated requests.
is_new() {
	[[ $stamp =~ ^[0-9]{1,12}$ && $nonce =~ ^[A-Za-z0-9]{1,64}$ ]] || return 1
	local age=$(($(date +%s) - stamp))
	[ "${age#-}" -le 300 ] || return 1
	find "$NONCES" -type f -mmin +11 -delete
	(set -o noclobber && : >"$NONCES/$nonce") 2>/dev/null
}

# read_request sets method, path, stamp, nonce and signature, and writes the body to the file $body.
read_request() {
	local line length=0
	read -r -t 20 method path _ || exit 0
	stamp='' nonce='' signature=''
	while read -r -t 20 line && line=${line%$'\r'} && [ -n "$line" ]; do
		case ${line,,} in
		content-length:*) length=${line#*: } ;;
		passerelle-timestamp:*) stamp=${line#*: } ;;
		passerelle-nonce:*) nonce=${line#*: } ;;
		passerelle-signature:*) signature=${line#*: } ;;
		esac
	done
	[[ $length =~ ^[0-9]{1,7}$ ]] || exit 0
	head -c "$length" >"$body"
}

handle() {
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	body=$work/body answer=$work/answer
	read_request
	if [[ $path != /v1/* ]]; then
		show "$path"
		return
	fi
	local right name=${path#/v1/}
	right=$({ printf '%s\n' request POST "$path" "$stamp" "$nonce" && cat "$body"; } | sign)
	# Both are signed before they are compared, so that the time of the comparison reveals nothing.
	if [ "$(sign <<<"$right")" != "$(sign <<<"$signature")" ] || ! is_new; then
		respond '401 Unauthorized'
	elif [[ ! $name =~ ^[a-z]+$ ]] || ! declare -F "call_$name" >/dev/null; then
		respond '404 Not Found'
	else
		"call_$name" >"$answer"
		signature=$({ printf '%s\n' answer 200 "$nonce" && cat "$answer"; } | sign)
		respond '200 OK' "Passerelle-Signature: $signature"
		cat "$answer"
		[ "$name" != read ] || printf '{"signature":"%s"}\n' "$signature"
	fi
}

# show answers a browser.
show() { respond '404 Not Found'; }

serve() {
	if [ -n "${NONCES:-}" ]; then
		handle
		return
	fi
	[ $# -ge 2 ] || { echo "usage: SECRET=... bash $0 PORT FOLDER" >&2; exit 2; }
	FOLDER=$(realpath "$2") NONCES=$(mktemp -d)
	INNER=$(padded 0x36) OUTER=$(padded 0x5c)
	export PORT=$1 FOLDER NONCES INNER OUTER
	cd -- "$(dirname -- "$0")"
	{ # reports that it listens
		until (: <>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null; do sleep 0.05; done
		echo "$PORT"
	} &
	exec socat "TCP-LISTEN:$PORT,bind=127.0.0.1,reuseaddr,fork,max-children=64" "EXEC:bash $(basename -- "$0")"
}
