"""400 visitors of the shop with privacy, by the SDK for Python: on the web jazz sells, elsewhere rock.

    python3 visitors.py [http://127.0.0.1:7073]        the address of api_listen; examples/shop/private.textproto is its server
"""

import sys
import time

import bandana

ARMS = bandana.Arms.named({"disc-7": {"price": 12.5, "tags": ["rock", "new"]}, "disc-8": {"price": 12.5, "tags": ["jazz"]}})
url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:7073"
with bandana.Client(url, "shop", store="visitors.db", policy=bandana.Policy(epsilon_max=2)) as client:
    for batch in range(4):
        sold = 0
        for number in range(100):
            device = "web" if number % 2 == 0 else "ios"
            shown = client.select(f"visitor-{batch}-{number}", ARMS, context={"device": device, "hour": 20})
            if (device, shown.arms[0].name) in (("web", "disc-8"), ("ios", "disc-7")):
                client.report(shown, 1.0)  # without a sale there is nothing to do
                sold += 1
        while client.stats().reports_pending:
            time.sleep(0.1)
        print(f"sold to {sold} of 100 visitors")
    print(client.spent("visitor-0-0"))
