#!/bin/sh
# A shop that learns what sells where, by curl: on the web jazz sells, elsewhere rock.
#
#   shop.sh http://127.0.0.1:7073          the address of api_listen
set -eu
url=$1/v1/models/shop
round=0
while [ $round -lt 200 ]; do
  if [ $((round % 2)) = 0 ]; then device=web; else device=ios; fi
  selection=$(curl -fsS "$url:select" -d '{"user": "ann", "context": {"device": "'$device'", "hour": 20},
    "arms": {"namedArms": {"arms": [
      {"id": "disc-7", "features": {"price": 12.5, "tags": ["rock", "new"]}},
      {"id": "disc-8", "features": {"price": 12.5, "tags": ["jazz"]}}]}}}')
  token=$(printf %s "$selection" | sed 's/.*"token": *"\([^"]*\)".*/\1/')
  shown=$(printf %s "$selection" | sed 's/.*"armNames": *\["\([^"]*\)".*/\1/')
  case $device$shown in webdisc-8 | iosdisc-7) reward=1 ;; *) reward=0 ;; esac
  curl -fsS "$url:report" -d '{"outcomes": [{"token": "'"$token"'", "reward": '$reward'}]}' > /dev/null
  echo "$device $shown $reward"
  round=$((round + 1))
done
