#!/usr/bin/env python3
"""The manifests of deploy/kubernetes, rendered by `kubectl kustomize`: what belongs together fits together.

Usage: kubernetes_test.py ROOT SERVER             renders every overlay and checks it; needs kubectl, openssl and PyYAML
       kubernetes_test.py ROOT --schemas FOLDER   validates the objects against the API's schemas and types, and shows that mistakes are
                                                  found; needs npm, whose packages go into FOLDER
Exits with 77 (skipped) where something is missing.
"""

import base64
import copy
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import processes  # noqa: E402

try:
    import yaml
except ImportError:
    processes.skip("PyYAML is not installed (./dev setup --full)")

# Has several servers? With the objects of the Prometheus operator?
OVERLAYS = {"single-node": (False, False), "single-node-monitored": (False, True), "cluster": (True, False), "cluster-monitored": (True, True)}
PACKAGES = ["kubernetes-models@5.1.0", "@kubernetes-models/prometheus-operator@6.0.0", "typescript@5.9.3"]
# Calls in flight have 5 s once new ones are refused; a minute for the checkpoints.
AFTER_DRAIN_SECONDS = 5 + 60


def render(root, overlay):
    out = subprocess.run(["kubectl", "kustomize", f"{root}/deploy/kubernetes/overlays/{overlay}"], check=True, capture_output=True, text=True)
    return [document for document in yaml.safe_load_all(out.stdout) if document]


def by_kind(objects):
    """One object of each kind; the service for the servers themselves is `Peers`."""
    found = {}
    for item in objects:
        kind = "Peers" if item["metadata"]["name"] == "bandana-peers" else item["kind"]
        assert kind not in found, f"two objects are a {kind}"
        found[kind] = item
    return found


def check_objects(found, cluster, monitored):
    kinds = {"Namespace", "ServiceAccount", "Secret", "Service", "StatefulSet", "PodDisruptionBudget", "NetworkPolicy"}
    assert set(found) == kinds | ({"Peers"} if cluster else set()) | ({"PrometheusRule", "ServiceMonitor"} if monitored else set()), set(found)
    assert all(item["metadata"].get("namespace") == "bandana" for kind, item in found.items() if kind != "Namespace")


def check_selectors(found, cluster):
    """Every selector of pods selects the server's, and a client needs no label of the server."""
    labels = found["StatefulSet"]["spec"]["template"]["metadata"]["labels"]
    assert labels
    assert found["StatefulSet"]["spec"]["selector"]["matchLabels"] == labels
    assert found["Service"]["spec"]["selector"] == labels
    assert found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    policy = found["NetworkPolicy"]["spec"]
    assert policy["podSelector"]["matchLabels"] == labels
    assert policy["ingress"][0]["from"] == [{"podSelector": {"matchLabels": {"bandana-client": "true"}}}]
    assert policy["policyTypes"] == ["Ingress", "Egress"] and bool(policy.get("egress")) == cluster
    if "ServiceMonitor" in found:
        spec = found["ServiceMonitor"]["spec"]
        assert spec["selector"]["matchLabels"].items() <= found["Service"]["metadata"]["labels"].items()
        assert {endpoint["port"] for endpoint in spec["endpoints"]} <= {port["name"] for port in found["Service"]["spec"]["ports"]}
        if cluster:
            assert not spec["selector"]["matchLabels"].items() <= found["Peers"]["metadata"]["labels"].items(), "every server is scraped twice"


def check_pod(found, config):
    spec = found["StatefulSet"]["spec"]
    pod = spec["template"]["spec"]
    assert pod["serviceAccountName"] == found["ServiceAccount"]["metadata"]["name"]
    drain = int(re.search(r"drain_delay \{ seconds: (\d+) \}", config).group(1))
    assert pod["terminationGracePeriodSeconds"] >= drain + AFTER_DRAIN_SECONDS
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] == 10001
    (server,) = pod["containers"]
    rights = server["securityContext"]
    assert rights["readOnlyRootFilesystem"] and not rights["allowPrivilegeEscalation"] and rights["capabilities"] == {"drop": ["ALL"]}
    ports = {port["name"]: port["containerPort"] for port in server["ports"] if port["name"] != "peers"}
    listens = dict(re.findall(r'^(\w*listen): "[^"]*:(\d+)"', config, re.M))
    assert ports == {"grpc": int(listens["listen"]), "http": int(listens["http_listen"]), "api": int(listens["api_listen"])}
    assert {port["targetPort"] for port in found["Service"]["spec"]["ports"]} == set(ports)
    for probe, path in {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}.items():
        assert server[probe]["httpGet"] == {"path": path, "port": "http"}, probe
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert volumes["config"]["secret"]["secretName"] == found["Secret"]["metadata"]["name"]
    claims = {claim["metadata"]["name"] for claim in spec["volumeClaimTemplates"]}
    mounts = {mount["name"]: mount["mountPath"] for mount in server["volumeMounts"]}
    # Mounts that an init container has and the server has not are the Secrets as they came.
    given = {mount["name"] for init in pod.get("initContainers", []) for mount in init["volumeMounts"]}
    assert set(mounts) <= set(volumes) | claims <= set(mounts) | given
    assert f'data_dir: "{mounts["data"]}"' in config


def check_alone(found):
    """One process with a data folder that no other one may have, and nothing that it calls."""
    spec = found["StatefulSet"]["spec"]
    assert spec["replicas"] == 1, "without a database, one process owns its data folder"
    assert spec["serviceName"] == found["Service"]["metadata"]["name"]
    assert "initContainers" not in spec["template"]["spec"]


def check_cluster(found, config):
    """Servers that reach one another, the database and nobody else, and that are not taken away together."""
    spec = found["StatefulSet"]["spec"]
    assert spec["replicas"] == 3 and spec["podManagementPolicy"] == "Parallel"
    assert found["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1
    peers = found["Peers"]["spec"]
    labels = spec["template"]["metadata"]["labels"]
    assert spec["serviceName"] == found["Peers"]["metadata"]["name"] and peers["selector"] == labels
    assert peers["clusterIP"] == "None" and peers["publishNotReadyAddresses"] is True, "a server that drains loses its name"
    pod = spec["template"]["spec"]
    (spread, _) = pod["topologySpreadConstraints"]
    assert spread["topologyKey"] == "kubernetes.io/hostname" and spread["labelSelector"]["matchLabels"] == labels
    (server,) = pod["containers"]
    (port,) = [port["containerPort"] for port in server["ports"] if port["name"] == "peers"]
    assert f'peers {{ listen: "0.0.0.0:{port}" }}' in config and [p["port"] for p in peers["ports"]] == [port]
    fields = {variable["name"]: variable["valueFrom"]["fieldRef"]["fieldPath"] for variable in server["env"]}
    assert fields == {"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace"}
    assert server["args"] == [f"--peers_address=$(POD_NAME).{spec['serviceName']}.$(POD_NAMESPACE).svc:{port}"]
    check_calls(found["NetworkPolicy"]["spec"], labels, port)
    check_keys(pod, config)
    assert "generate_token: true" not in config, "each server would draw a token of its own"


def check_calls(policy, labels, port):
    servers = [{"podSelector": {"matchLabels": labels}}]
    from_servers = [rule for rule in policy["ingress"] if port in [p["port"] for p in rule["ports"]]]
    assert from_servers == [{"from": servers, "ports": [{"protocol": "TCP", "port": port}]}]
    to = {tuple(p["port"] for p in rule["ports"]): rule["to"] for rule in policy["egress"]}
    assert set(to) == {(port,), (5432,), (53, 53)} and to[(port,)] == servers
    assert to[(5432,)] == [{"namespaceSelector": {}, "podSelector": {"matchLabels": {"bandana-database": "true"}}}]
    assert all("podSelector" in peer for rule in policy["egress"] for peer in rule["to"]), "a server may call everybody"


def check_keys(pod, config):
    """Keys and password come from Secrets that are not in the manifests, and reach the server as files that nobody else can read."""
    (server,) = pod["containers"]
    (init,) = pod["initContainers"]
    assert init["image"] == server["image"] and init["securityContext"] == server["securityContext"]
    given = {mount["name"]: mount["mountPath"] for mount in init["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert volumes["keys"]["emptyDir"]["medium"] == "Memory"
    secrets = {given[name]: volumes[name]["secret"]["secretName"] for name in given if name != "keys"}
    assert set(secrets.values()) == {"bandana-keys", "bandana-database"}
    assert not {mount["name"] for mount in server["volumeMounts"]} & {"keys-given", "database-given"}
    files = [word for word in init["command"] if word.startswith("/")]
    assert {os.path.dirname(file) for file in files} == set(secrets)
    assert {f"{given['keys']}/{os.path.basename(file)}" for file in files} == set(re.findall(r"/etc/bandana-keys/[\w.]+", config))
    assert {mount["mountPath"] for mount in server["volumeMounts"] if mount["name"] == "keys"} == {given["keys"]}
    copy_keys(init["command"], given["keys"], files)


def copy_keys(command, target, files):
    """The command makes files of mode 0600 of files as a Secret has them."""
    with tempfile.TemporaryDirectory() as folder:
        for name in (target, *files):
            os.makedirs(folder + (name if name == target else os.path.dirname(name)), exist_ok=True)
        for name in files:
            with open(folder + name, "w", encoding="utf-8") as file:
                file.write(name)
            os.chmod(folder + name, 0o440)
        for _ in range(2):  # again when the pod's containers begin anew
            subprocess.run([word.replace(target, folder + target) if target in word else folder + word if word.startswith("/") else word
                            for word in command], check=True)
        for name in files:
            copied = f"{folder}{target}/{os.path.basename(name)}"
            assert processes.read(copied) == name and os.stat(copied).st_mode & 0o777 == 0o600, name


def check_config(server, config, cluster):
    """The server takes it, with a certificate in the place of the cluster's and keys in the place of those of bandana-keys."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=bandana",
                        "-keyout", f"{folder}/tls.key", "-out", f"{folder}/tls.crt"], check=True, capture_output=True)
        os.chmod(f"{folder}/tls.key", 0o600)
        for name, digit in (("log.key", "1"), ("noise.key", "2")):
            with open(os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
                file.write(64 * digit)
        shutil.copy(f"{folder}/tls.crt", f"{folder}/ca.crt")
        path = os.path.join(folder, "server.textproto")
        with open(path, "w", encoding="utf-8") as file:
            file.write(config.replace("/etc/bandana-tls", folder).replace("/etc/bandana-keys", folder))
        own = ["--peers_address=bandana-0.bandana-peers.bandana.svc:7074"] if cluster else []
        result = subprocess.run([server, "--check_config", "--config", path, *own], capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stdout
        assert "transport TLS" in result.stdout and "access anybody else: none" in result.stdout, result.stdout
        if cluster:
            assert "peers 0.0.0.0:7074, reached at bandana-0.bandana-peers.bandana.svc:7074, TLS by key_file" in result.stdout, result.stdout


def check_rules(root, found):
    rules = yaml.safe_load(processes.read(f"{root}/deploy/prometheus/bandana.rules.yml"))
    assert found["PrometheusRule"]["spec"] == rules, "python3 tools/check/check_monitoring.py --write"


def config_of(secret):
    return base64.b64decode(secret["data"]["server.textproto"]).decode()


def check_rendered(root, server):
    processes.need("kubectl", "openssl")
    for overlay, (cluster, monitored) in OVERLAYS.items():
        found = by_kind(render(root, overlay))
        config = config_of(found["Secret"])
        check_objects(found, cluster, monitored)
        check_selectors(found, cluster)
        check_pod(found, config)
        if cluster:
            check_cluster(found, config)
        else:
            check_alone(found)
        check_config(server, config, cluster)
        if monitored:
            check_rules(root, found)


class Schemas:
    def __init__(self, folder):
        processes.need("npm", "node")
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        if os.path.isfile(self.path("complete")) and processes.read(self.path("complete")) == " ".join(PACKAGES):
            return
        installed = subprocess.run(["npm", "install", "--prefix", folder, "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", *PACKAGES],
                                   capture_output=True, text=True, check=False)
        if installed.returncode != 0:
            processes.skip(f"npm cannot install {PACKAGES}: {installed.stderr[-300:]}")
        self.write("complete", " ".join(PACKAGES))

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def mistakes(self, objects):
        """The schemas find values of a wrong form and missing fields. The types find unknown fields."""
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kubernetes_schemas.mjs")
        values = subprocess.run(["node", script, self.folder], input=json.dumps(objects), capture_output=True, text=True, check=False)
        lines = []
        for i, item in enumerate(objects):
            operator = item["apiVersion"].startswith("monitoring.coreos.com/")
            package = "@kubernetes-models/prometheus-operator" if operator else "kubernetes-models"
            lines.append(f'import type {{ I{item["kind"]} as T{i} }} from "{package}/{item["apiVersion"]}/{item["kind"]}";\n'
                         f"export const o{i}: T{i} = {json.dumps(item)};\n")
        self.write("objects.mts", "".join(lines))
        types = subprocess.run(["node", "node_modules/typescript/bin/tsc", "--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext",
                                "--target", "es2022", "objects.mts"], cwd=self.folder, capture_output=True, text=True, check=False)
        found = values.stdout.splitlines() + types.stdout.splitlines()
        assert bool(found) == bool(values.returncode or types.returncode), values.stderr + types.stderr
        return found


def plain(objects):
    """The API takes white space in the values of a Secret, the schema does not."""
    objects = copy.deepcopy(objects)
    for item in objects:
        if item["kind"] == "Secret":
            item["data"] = {key: "".join(value.split()) for key, value in item["data"].items()}
    return objects


def check_schemas(root, folder):
    processes.need("kubectl")
    schemas = Schemas(folder)
    for overlay in OVERLAYS:
        found = schemas.mistakes(plain(render(root, overlay)))
        assert not found, "\n".join(found)

    broken = plain(render(root, "single-node-monitored"))
    found = by_kind(broken)
    found["StatefulSet"]["spec"].update(replicas="one")
    found["PrometheusRule"]["spec"]["groups"][0].pop("name")
    found["NetworkPolicy"]["spec"]["ingress"][0].update(form=[])
    found["Service"]["spec"].update(clusterIp="None")
    mistakes = "\n".join(schemas.mistakes(broken))
    for word in ("replicas must be integer", "must have required property name", "'\"form\"' does not exist", "'\"clusterIp\"' does not exist"):
        assert word in mistakes, f"the schemas and types do not find {word!r}:\n{mistakes}"


if __name__ == "__main__":
    if sys.argv[2] == "--schemas":
        check_schemas(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[3]))
    else:
        check_rendered(os.path.abspath(sys.argv[1]), sys.argv[2])
