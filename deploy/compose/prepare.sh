#!/usr/bin/env bash
# Makes what the compose stack must not have in common with others: an authority, the proxy's certificate, the tokens of
# the load and of the operator, the servers' configuration with their digests, the keys that the servers share, and the
# passwords of the database. Keeps what is there already.
#   prepare.sh [FOLDER]   default: secrets, beside this script; PROXY_NAMES: names in the certificate, default proxy,localhost
# Run it as root: the files belong to user 10001, as whom the containers run, those of the database to its user 999.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/secrets}
names=${PROXY_NAMES:-proxy,localhost}
owner=10001
database_owner=999
umask 077
mkdir -p "$out"/{authority,server,proxy,app,database}

# A token, a password or a key: 64 hexadecimal digits.
token() {  # FILE
  [ -s "$1" ] || openssl rand -hex 32 | tr -d '\n' >"$1"
}
digest() { sha256sum "$1" | cut -d ' ' -f 1; }

if [ ! -s "$out/proxy/proxy.pem" ]; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj "/CN=bandana compose authority" \
    -keyout "$out/authority/ca.key" -out "$out/authority/ca.pem" 2>/dev/null
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=${names%%,*}" \
    -keyout "$out/authority/proxy.key" -out "$out/authority/proxy.csr" 2>/dev/null
  openssl x509 -req -in "$out/authority/proxy.csr" -CA "$out/authority/ca.pem" -CAkey "$out/authority/ca.key" -CAcreateserial \
    -days 825 -extfile <(printf 'subjectAltName=DNS:%s\n' "${names//,/,DNS:}") -out "$out/authority/proxy.crt" 2>/dev/null
  cat "$out/authority/proxy.crt" "$out/authority/proxy.key" >"$out/proxy/proxy.pem"
  rm "$out/authority"/proxy.*
fi
token "$out/app/app.token"
token "$out/server/ops.token"
cp "$out/authority/ca.pem" "$out/app/ca.pem"

# Both servers need the same two keys. Whoever has the database and log.key can read it; noise.key undoes the privacy of
# central models. A backup of the database goes elsewhere than these.
token "$out/server/log.key"
token "$out/server/noise.key"
token "$out/database/bandana.password"
token "$out/database/superuser.password"
printf '*:*:bandana:bandana:%s\n' "$(cat "$out/database/bandana.password")" >"$out/server/database.pass"

sed "s/@APP@/$(digest "$out/app/app.token")/; s/@OPS@/$(digest "$out/server/ops.token")/" \
  "$here/server.textproto.in" >"$out/server/server.textproto"

if [ "$(id -u)" = 0 ]; then
  chown -R "$owner:$owner" "$out"/{server,proxy,app}
  chown -R "$database_owner:$database_owner" "$out/database"
  chmod 0711 "$out"
else
  echo "not root: give $out/{server,proxy,app} to user $owner and $out/database to $database_owner before the containers start" >&2
fi
