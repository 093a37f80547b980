"""As reporter.cc, by the Python package: PACKAGE_FOLDER URL MODEL STORE DECISIONS REWARD."""

import math
import sys
import time

sys.path.insert(0, sys.argv[1])
import bandana  # noqa: E402

url, model, store, decisions, reward = sys.argv[2:]
arms = [[math.cos(i), math.sin(i)] for i in range(16)]
with bandana.Client(url, model, store=store, policy=bandana.Policy(epsilon_max=20)) as client:
    for _ in range(int(decisions)):
        for slot in client.select_slots("user", arms, len(arms)):
            client.report(slot, float(reward))
    while client.stats().reports_pending > 0:
        time.sleep(0.05)
    print(client.stats().reports_applied, client.stats().reports_defaulted)
