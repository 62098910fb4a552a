# The connector protocol over HTTP: signatures, responses and streams. It needs bash, socat and jq.
#
# A connector calls serve "$@" at its end, with PORT FOLDER. Each request then runs the connector
# again, with the request on its standard input. handle calls the function call_NAME, with the body
# in the file $body. The function writes the response. Only call_read writes the lines of a stream.
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

# sign sets $signature to the HMAC-SHA256 of the lines $2... and the file $1. The secret is never an
# argument of another program, because other users could see it.
sign() {
	local file=$1 sum escaped='' i
	shift
	sum=$({ printf %b "$INNER" && printf '%s\n' "$@" && cat "$file"; } | sha256sum)
	for ((i = 0; i < 64; i += 2)); do escaped+=\\x${sum:i:2}; done
	sum=$(printf %b "$OUTER$escaped" | sha256sum)
	signature=${sum%% *}
}

# is_signature compares $1 with the signature. It compares all digits, so that the time of the
# comparison reveals nothing.
is_signature() {
	[[ $1 =~ ^[0-9a-f]{64}$ ]] || return 1
	local i difference=0
	for ((i = 0; i < 64; i += 8)); do difference=$((difference | (0x${1:i:8} ^ 0x${signature:i:8}))); done
	[ "$difference" = 0 ]
}

respond() { # STATUS HEADER...
	printf 'HTTP/1.1 %s\r\n' "$1"
	shift
	printf '%s\r\n' 'Connection: close' "$@" ''
}

# is_new succeeds if a request is neither old nor repeated.
is_new() {
	[[ $stamp =~ ^[0-9]{1,12}$ && $nonce =~ ^[A-Za-z0-9]{1,64}$ ]] || return 1
	local now age
	printf -v now '%(%s)T' -1
	age=$((now - stamp))
	[ "${age#-}" -le 300 ] || return 1
	find "$WORK" -type f -mmin +11 -delete
	(set -o noclobber && : >"$WORK/$nonce") 2>/dev/null
}

# read_request sets $method, $path, $stamp, $nonce and $sent, which is the signature of the request.
# It writes the body to the file $body.
read_request() {
	local line length=0
	read -r -t 20 method path _ || exit 0
	stamp='' nonce='' sent=''
	while read -r -t 20 line && line=${line%$'\r'} && [ -n "$line" ]; do
		case ${line,,} in
		content-length:*) length=${line#*: } ;;
		passerelle-timestamp:*) stamp=${line#*: } ;;
		passerelle-nonce:*) nonce=${line#*: } ;;
		passerelle-signature:*) sent=${line#*: } ;;
		esac
	done
	[[ $length =~ ^[0-9]{1,7}$ ]] || exit 0
	head -c "$length" >"$body"
}

handle() {
	body=$WORK/body-$$ answer=$WORK/answer-$$ # a nonce has no hyphen
	trap 'rm -f "$body" "$answer"' EXIT
	read_request
	if [[ $path != /v1/* ]]; then
		show "$path"
		return
	fi
	local name=${path#/v1/}
	sign "$body" request POST "$path" "$stamp" "$nonce"
	if ! is_signature "$sent" || ! is_new; then
		respond '401 Unauthorized'
	elif [[ ! $name =~ ^[a-z]+$ ]] || ! declare -F "call_$name" >/dev/null; then
		respond '404 Not Found'
	else
		"call_$name" >"$answer"
		sign "$answer" answer 200 "$nonce"
		respond '200 OK' "Passerelle-Signature: $signature"
		cat "$answer"
		[ "$name" != read ] || printf '{"signature":"%s"}\n' "$signature"
	fi
}

# show responds to a browser.
show() { respond '404 Not Found'; }

# WORK is a folder for the nonces of requests and the files of open requests. It stays the same after a
# restart, so the program also refuses requests that it got before, and no folder is left behind.
serve() {
	if [ -n "${WORK:-}" ]; then
		handle
		return
	fi
	[ $# -eq 2 ] && [ -d "$2" ] && [ -w "$2" ] && [[ ${SECRET:-} =~ ^.{32,256}$ ]] || {
		echo "usage: SECRET=... bash $0 PORT FOLDER; SECRET has 32 to 256 characters, and FOLDER is writable" >&2
		exit 2
	}
	FOLDER=$(realpath "$2") WORK=$FOLDER/.requests
	(umask 077 && mkdir -p "$WORK")
	INNER=$(padded 0x36) OUTER=$(padded 0x5c)
	export PORT=$1 FOLDER WORK INNER OUTER
	cd -- "$(dirname -- "$0")"
	{ # reports that it listens
		until (: <>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null; do sleep 0.05; done
		echo "$PORT"
	} &
	exec socat "TCP-LISTEN:$PORT,bind=127.0.0.1,reuseaddr,fork,max-children=64" "EXEC:bash $(basename -- "$0")"
}
