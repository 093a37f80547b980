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
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import processes  # noqa: E402

try:
    import yaml
except ImportError:
    processes.skip("PyYAML is not installed (./dev setup --full)")

OVERLAYS = {"single-node": False, "single-node-monitored": True}  # with the objects of the Prometheus operator?
PACKAGES = ["kubernetes-models@5.1.0", "@kubernetes-models/prometheus-operator@6.0.0", "typescript@5.9.3"]
# Calls in flight have 5 s once new ones are refused; a minute for the checkpoints.
AFTER_DRAIN_SECONDS = 5 + 60


def render(root, overlay):
    out = subprocess.run(["kubectl", "kustomize", f"{root}/deploy/kubernetes/overlays/{overlay}"], check=True, capture_output=True, text=True)
    return [document for document in yaml.safe_load_all(out.stdout) if document]


def by_kind(objects):
    found = {}
    for item in objects:
        assert item["kind"] not in found, f"two objects are a {item['kind']}"
        found[item["kind"]] = item
    return found


def check_objects(found, monitored):
    kinds = {"Namespace", "ServiceAccount", "Secret", "Service", "StatefulSet", "PodDisruptionBudget", "NetworkPolicy"}
    assert set(found) == kinds | ({"PrometheusRule", "ServiceMonitor"} if monitored else set()), set(found)
    assert all(item["metadata"].get("namespace") == "bandana" for kind, item in found.items() if kind != "Namespace")


def check_selectors(found):
    """What selects pods selects the server's, and a client needs no label of the server."""
    labels = found["StatefulSet"]["spec"]["template"]["metadata"]["labels"]
    assert labels
    assert found["StatefulSet"]["spec"]["selector"]["matchLabels"] == labels
    assert found["Service"]["spec"]["selector"] == labels
    assert found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    policy = found["NetworkPolicy"]["spec"]
    assert policy["podSelector"]["matchLabels"] == labels
    assert policy["ingress"][0]["from"] == [{"podSelector": {"matchLabels": {"bandana-client": "true"}}}]
    assert policy["policyTypes"] == ["Ingress", "Egress"] and not policy.get("egress")
    if "ServiceMonitor" in found:
        spec = found["ServiceMonitor"]["spec"]
        assert spec["selector"]["matchLabels"].items() <= found["Service"]["metadata"]["labels"].items()
        assert {endpoint["port"] for endpoint in spec["endpoints"]} <= {port["name"] for port in found["Service"]["spec"]["ports"]}


def check_pod(found, config):
    spec = found["StatefulSet"]["spec"]
    assert spec["replicas"] == 1, "one process owns its data folder"
    assert spec["serviceName"] == found["Service"]["metadata"]["name"]
    pod = spec["template"]["spec"]
    assert pod["serviceAccountName"] == found["ServiceAccount"]["metadata"]["name"]
    drain = int(re.search(r"drain_delay \{ seconds: (\d+) \}", config).group(1))
    assert pod["terminationGracePeriodSeconds"] >= drain + AFTER_DRAIN_SECONDS
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] == 10001
    (server,) = pod["containers"]
    rights = server["securityContext"]
    assert rights["readOnlyRootFilesystem"] and not rights["allowPrivilegeEscalation"] and rights["capabilities"] == {"drop": ["ALL"]}
    ports = {port["name"]: port["containerPort"] for port in server["ports"]}
    listens = dict(re.findall(r'^(\w*listen): "[^"]*:(\d+)"', config, re.M))
    assert ports == {"grpc": int(listens["listen"]), "http": int(listens["http_listen"]), "api": int(listens["api_listen"])}
    assert {port["targetPort"] for port in found["Service"]["spec"]["ports"]} == set(ports)
    for probe, path in {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}.items():
        assert server[probe]["httpGet"] == {"path": path, "port": "http"}, probe
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert volumes["config"]["secret"]["secretName"] == found["Secret"]["metadata"]["name"]
    claims = {claim["metadata"]["name"] for claim in spec["volumeClaimTemplates"]}
    mounts = {mount["name"]: mount["mountPath"] for mount in server["volumeMounts"]}
    assert set(mounts) == set(volumes) | claims
    assert f'data_dir: "{mounts["data"]}"' in config


def check_config(server, config):
    """The server takes it, with a certificate in the place of the cluster's."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=bandana",
                        "-keyout", f"{folder}/tls.key", "-out", f"{folder}/tls.crt"], check=True, capture_output=True)
        os.chmod(f"{folder}/tls.key", 0o600)
        path = os.path.join(folder, "server.textproto")
        with open(path, "w", encoding="utf-8") as file:
            file.write(config.replace("/etc/bandana-tls", folder))
        result = subprocess.run([server, "--check_config", "--config", path], capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stdout
        assert "transport TLS" in result.stdout and "access anybody else: none" in result.stdout, result.stdout


def check_rules(root, found):
    rules = yaml.safe_load(processes.read(f"{root}/deploy/prometheus/bandana.rules.yml"))
    assert found["PrometheusRule"]["spec"] == rules, "python3 tools/check/check_monitoring.py --write"


def config_of(secret):
    return base64.b64decode(secret["data"]["server.textproto"]).decode()


def check_rendered(root, server):
    processes.need("kubectl", "openssl")
    for overlay, monitored in OVERLAYS.items():
        found = by_kind(render(root, overlay))
        config = config_of(found["Secret"])
        check_objects(found, monitored)
        check_selectors(found)
        check_pod(found, config)
        check_config(server, config)
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
        """What the schemas find: values of a wrong form, fields that are missing. What the types find: fields that there are not."""
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
