#!/usr/bin/env python3
"""The JavaScript SDK under Node against a real server: node_test.py SERVER PACKAGE NODE."""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import processes  # noqa: E402

WINDOW = "reporting { reward_window { duration { nanos: 200000000 } default_reward: 0.5 } }"
ONCE = "reporting { one_per_decision: true }"
SCHEMA = """features {
  context { name: "hour" cyclic { period: 24 } } arm { name: "genre" categorical { values: "news" values: "sport" } }
  arm { name: "price" numeric { low: 0 high: 10 } } }"""
CONFIG = f"""listen: "127.0.0.1:0" http_listen: "127.0.0.1:0" api_listen: "127.0.0.1:0"
models {{ name: "raw" dimension: 2 shared {{}} mode: NON_PRIVATE }}
models {{ name: "window" dimension: 2 shared {{}} mode: LOCAL_REWARD privacy {{ epsilon: 2 mechanism: REWARD_RANDOMIZER }} {WINDOW} }}
models {{ name: "centred" dimension: 2 shared {{}} mode: LOCAL_REWARD privacy {{ epsilon: 2 mechanism: CENTRED_RANDOMIZER }} {WINDOW} }}
models {{ name: "once" dimension: 2 independent {{}} mode: LOCAL_REWARD privacy {{ epsilon: 2 }} {ONCE} }}
models {{ name: "few" dimension: 2 shared {{}} mode: LOCAL_REWARD privacy {{ epsilon: 2 events_per_user_max: 2 }} {WINDOW} }}
models {{ name: "counter" dimension: 2 shared {{}} mode: LOCAL_REWARD privacy {{ epsilon: 2 delta: 1e-6 mechanism: COUNTER counter {{ horizon: 1000 }} }}
  {WINDOW} }}
models {{ name: "contexts" dimension: 2 shared {{}} mode: LOCAL_CONTEXT privacy {{ epsilon: 5 mechanism: PRIVUNIT }} {ONCE} }}
models {{ name: "central" dimension: 2 shared {{}} mode: CENTRAL_REWARD privacy {{ epsilon: 2 delta: 1e-6 }} {WINDOW} }}
models {{ name: "raw-window" dimension: 2 shared {{}} mode: NON_PRIVATE {WINDOW} }}
models {{ name: "named" {SCHEMA} shared {{}} mode: NON_PRIVATE }}
"""


def main():
    server_program, package, node = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as folder, processes.Children() as children:
        with open(f"{folder}/server.textproto", "w", encoding="utf-8") as file:
            file.write(CONFIG)
        log = f"{folder}/server.log"
        server = children.start(log, [server_program, "--config", f"{folder}/server.textproto", "--data_dir", f"{folder}/data"])
        api = processes.await_ready(server, log)["api"]
        os.environ["BANDANA_PACKAGE"] = package
        os.environ["BANDANA_URL"] = f"http://{api}"
        os.environ["BANDANA_FOLDER"] = folder
        return subprocess.run([node, "--test", f"{HERE}/sdk_test.mjs"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
