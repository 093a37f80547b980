#!/bin/sh
# A shop that learns what sells where, by curl: on the web jazz sells, elsewhere rock. examples/shop/server.textproto is its server.
#
#   shop.sh [http://127.0.0.1:7073]        the address of api_listen
set -eu
url=${1:-http://127.0.0.1:7073}/v1/models/shop
# Prints the answer. A refusal of the server is said on stderr, and ends the script.
call() {
  answer=$(curl --silent --show-error --fail-with-body "$@") || { echo "$answer" >&2; exit 1; }
  echo "$answer"
}
round=0
while [ $round -lt 200 ]; do
  if [ $((round % 2)) = 0 ]; then device=web; else device=ios; fi
  selection=$(call "$url:select" -d '{"user": "ann", "context": {"device": "'$device'", "hour": 20},
    "arms": {"namedArms": {"arms": [
      {"id": "disc-7", "features": {"price": 12.5, "tags": ["rock", "new"]}},
      {"id": "disc-8", "features": {"price": 12.5, "tags": ["jazz"]}}]}}}')
  token=$(echo "$selection" | sed 's/.*"token": *"\([^"]*\)".*/\1/')
  shown=$(echo "$selection" | sed 's/.*"armNames": *\["\([^"]*\)".*/\1/')
  case $device$shown in webdisc-8 | iosdisc-7) reward=1 ;; *) reward=0 ;; esac
  call "$url:report" -d '{"outcomes": [{"token": "'"$token"'", "reward": '$reward'}]}' > /dev/null
  echo "$device $shown $reward"
  round=$((round + 1))
done
