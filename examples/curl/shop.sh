#!/bin/sh
# A shop in ten lines, by curl: `shop.sh ADDRESS MODEL`, where the server listens on api_listen: "ADDRESS" and the model has two
# features. BANDANA_TOKEN: a bearer token, where the server wants one.
set -eu
bandana="${1:-http://127.0.0.1:7073}/v1/models/${2:-articles}"
call() { curl --silent --show-error --fail-with-body ${BANDANA_TOKEN:+-H "Authorization: Bearer $BANDANA_TOKEN"} "$@"; echo; }

# Two articles, each with its features: which one for ann?
decision=$(call "$bandana:select" -d '{"user": "ann", "arms": {"inlineArms": {"features": [1, 0,  0, 1]}}}')
echo "$decision"
token=$(echo "$decision" | sed 's/.*"token":"\([^"]*\)".*/\1/')

# She clicked.
call "$bandana:report" -d '{"outcomes": [{"token": "'"$token"'", "reward": 1}]}'
