#!/bin/sh
# A shop in ten lines, by curl: `shop.sh URL MODEL`, where the server listens on api_listen (URL is http://127.0.0.1:7073 without one) and
# the model is not private on the device and has two features. examples/curl/server.textproto is such a server.
# BANDANA_TOKEN: a bearer token, where the server wants one.
set -eu
bandana="${1:-http://127.0.0.1:7073}/v1/models/${2:-articles}"
# Prints the answer. A refusal of the server is said on stderr, and ends the script.
call() {
  answer=$(curl --silent --show-error --fail-with-body ${BANDANA_TOKEN:+-H "Authorization: Bearer $BANDANA_TOKEN"} "$@") ||
    { echo "$answer" >&2; exit 1; }
  echo "$answer"
}

# Two articles, each with its features: which one for ann?
decision=$(call "$bandana:select" -d '{"user": "ann", "arms": {"inlineArms": {"features": [1, 0,  0, 1]}}}')
echo "$decision"
token=$(echo "$decision" | sed 's/.*"token":"\([^"]*\)".*/\1/')

# She clicked. The answer says APPLIED.
call "$bandana:report" -d '{"outcomes": [{"token": "'"$token"'", "reward": 1}]}'
