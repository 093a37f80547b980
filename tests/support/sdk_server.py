"""A server for the SDKs of other languages: a model of each kind that they meet."""

import dataclasses
import json
import time
import urllib.request

import certificates
import processes

CONFIG = """
models { name: "window" dimension: 2 shared {} reward_binary: true mode: LOCAL_REWARD
         privacy { epsilon: 2 events_per_user_max: 5 } reporting { reward_window { duration { seconds: 1 } default_reward: 0 } } }
models { name: "centred" dimension: 2 shared {} mode: LOCAL_REWARD privacy { epsilon: 2 mechanism: CENTRED_RANDOMIZER }
         reporting { reward_window { duration { seconds: 1 } default_reward: 0 } } }
models { name: "long" dimension: 2 shared {} reward_binary: true mode: LOCAL_REWARD
         privacy { epsilon: 2 } reporting { reward_window { duration { seconds: 3600 } default_reward: 0 } } }
models { name: "now" dimension: 2 shared {} reward_max: 1 mode: LOCAL_REWARD privacy { epsilon: 2 } reporting { one_per_decision: true } }
models { name: "raw" dimension: 2 shared {} mode: NON_PRIVATE }
models { name: "effects" dimension: 2 effects { standard {} } mode: LOCAL_REWARD privacy { epsilon: 2 } reporting { one_per_decision: true } }
models { name: "names" shared {} mode: NON_PRIVATE features { bias: true context { name: "evening" boolean {} }
         arm { name: "price" numeric { low: 0 high: 10 } } arm { name: "kind" categorical { values: "a" values: "b" } } } }
"""


@dataclasses.dataclass
class Server:
    url: str
    grpc: str
    process: object


def start(program, folder, children, config=CONFIG):
    """Runs in `folder`, on loopback, until `children` end."""
    path, log = f"{folder}/server.textproto", f"{folder}/server.log"
    with open(path, "w", encoding="utf-8") as file:
        file.write(config)
    listen = [option for name in ("listen", "http_listen", "api_listen") for option in (f"--{name}", "127.0.0.1:0")]
    process = children.start(log, [program, "--config", path, *listen, "--data_dir", f"{folder}/data"])
    addresses = processes.await_ready(process, log)
    return Server(f"http://{addresses['api']}", addresses["listen"], process)


def backend_answer(url, model, user, rows):
    """The fields of an answer that a backend hands to a device: rank 1 of two, shown to `user`."""
    at = f"{url}/v1/models/{model}"
    with urllib.request.urlopen(at) as answer:
        policy_hash = json.load(answer)["policyHash"]
    arms = {"inlineArms": {"features": [number for row in rows for number in row]}}
    body = {"user": user, "arms": arms, "topK": 2, "shown": 1, "policyHash": policy_hash}
    with urllib.request.urlopen(f"{at}:select", data=json.dumps(body).encode()) as answer:
        selection = json.load(answer)
    return {
        "user": user, "model": model, "policy_hash": policy_hash, "shown": 1, "decided_ms": time.time_ns() // 1_000_000,
        "selection": selection,
    }  # fmt: skip


def start_tls(program, folder, children):
    """As start, over TLS: the url's host is localhost, as in the certificate, which `folder`/ca.pem has signed, and other.pem has not."""
    for name in ("ca", "other"):
        certificates.authority(folder, name)
    certificates.server(folder, "server", "ca", "localhost")
    tls = f'tls {{ certificate_file: "{folder}/server.pem" private_key_file: "{folder}/server.key" }}\n'
    server = start(program, folder, children, tls + CONFIG)
    return dataclasses.replace(server, url=f"https://localhost:{server.url.rsplit(':', 1)[1]}")
