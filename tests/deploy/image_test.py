#!/usr/bin/env python3
"""The images, built by buildah from a clean clone and run without a daemon.

They are small, belong to no root, say what is in them, and write to /data alone. A server in one is killed after the fleet of the other has
reported to it, and has every report when it comes back.

Usage: image_test.py ROOT BIN WORK. ROOT is the repository, BIN the folder with the built programs, WORK a folder of the test's own.
Exits with 77 (skipped) where buildah or debootstrap is missing, or without root.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import processes  # noqa: E402

SIZE_MIB_MAX = {"bandana-server": 200, "bandana-tools": 200}
OWNER = 10001
ROUNDS = 200
CONFIG = """
listen: "127.0.0.1:0"
http_listen: "127.0.0.1:0"
admin_listen: "127.0.0.1:0"
data_dir: "/data"
access { generate_token: true }
models {
  name: "m" dimension: 5 reward_min: -1 reward_max: 1 reward_binary: true effects { standard {} }
  mode: LOCAL_REWARD privacy { epsilon: 2 } reporting { one_per_decision: true }
}
"""


class Images:
    def __init__(self, root, programs, work):
        self.clone, self.work = os.path.join(work, "clone"), work
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", root, self.clone], check=True)
        for file in ("bin/bandana-server", "bin/bandana-ctl", "bin/bandana-fleet", "lib/libbandana.so.0"):
            target = os.path.join(self.clone, "build/release", file)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(os.path.join(os.path.dirname(programs), file), target)

    def build(self):
        out = subprocess.run(["deploy/image/build.sh"], cwd=self.clone, env={**os.environ, "BANDANA_IMAGE_ENGINE": "buildah"}, check=True,
                             stdout=subprocess.PIPE, text=True).stdout
        lines = out.splitlines()
        assert len(lines) == 2, out
        found = [re.fullmatch(r"image=(\S+) size_mib=(\d+)", line).groups() for line in lines]
        assert [name for name, _ in found] == list(SIZE_MIB_MAX), out
        for name, size in found:
            assert 50 < int(size) <= SIZE_MIB_MAX[name], f"{name} has {size} MiB"
        return out

    def command(self, *words):
        storage = os.path.join(self.clone, "build/image")
        return ["buildah", "--root", f"{storage}/storage", "--runroot", f"{storage}/run", "--storage-driver", "vfs", *words]

    def call(self, *words):
        return subprocess.run(self.command(*words), check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def container(self, image):
        return Container(self, self.call("from", image))

    def remove(self):
        for words in (["rm", "--all"], ["rmi", "--all", "--force"]):
            subprocess.run(self.command(*words), check=False, capture_output=True)
        shutil.rmtree(self.work, ignore_errors=True)


class Container:
    """Runs as the image says, on the host's network; /data and the configuration are folders of the test."""

    def __init__(self, images, name):
        self.images, self.name = images, name
        self.folder = images.call("mount", name)
        self.volumes = []

    def mount(self, source, target):
        self.volumes += ["-v", f"{source}:{target}"]

    def command(self, *words):
        return self.images.command("run", "--isolation", "chroot", *self.volumes, self.name, "--", *words)

    def run(self, *words, code=0):
        result = subprocess.run(self.command(*words), capture_output=True, text=True, check=False)
        assert result.returncode == code, f"{words}: {result.returncode}\n{result.stdout}{result.stderr}"
        return result.stdout


def check_description(images, name, programs):
    config = json.loads(images.call("inspect", "--type", "image", name))["Docker"]["config"]
    assert config["User"] == f"{OWNER}:{OWNER}", config
    labels = config["Labels"]
    revision = subprocess.run(["git", "rev-parse", "HEAD"], cwd=images.clone, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    assert labels["org.opencontainers.image.title"] == name
    assert labels["org.opencontainers.image.revision"] == revision
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert re.fullmatch(r"\d+\.\d+\.\d+", labels["org.opencontainers.image.version"]), labels
    if name == "bandana-server":
        assert config["Volumes"] == {"/data": {}}, config
        assert config["Healthcheck"]["Test"] == ["CMD", "bandana-ctl", "health"], config
        assert config["StopSignal"] == "SIGTERM"
        assert set(config["ExposedPorts"]) == {"7070/tcp", "7071/tcp", "7073/tcp"}, "Admin is for inside"
    container = images.container(name)
    for program in programs:
        assert re.fullmatch(rf"{program} \d+\.\d+\.\d+\n", container.run(program, "--version"))
    for absent in ("curl", "wget", "python3", "perl5.36", "gcc", "git"):
        assert shutil.which(absent, path=":".join(container.folder + p for p in ("/usr/bin", "/usr/local/bin", "/bin"))) is None, absent
    for empty in ("var/lib/apt/lists", "var/cache/apt", "var/log"):
        left = os.listdir(os.path.join(container.folder, empty))
        assert not left, f"{empty} holds {left}"
    return container


def check_sbom(container, name, programs):
    """The fields that SPDX 2.3 demands; every installed package, every program with its sum, and nothing twice."""
    sbom = json.loads(container.run("cat", "/usr/share/bandana/sbom.spdx.json"))
    assert (sbom["spdxVersion"], sbom["dataLicense"], sbom["SPDXID"]) == ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT")
    assert re.fullmatch(rf"{name}-\d+\.\d+\.\d+", sbom["name"]), sbom["name"]
    assert re.fullmatch(r"https://[^#\s]+", sbom["documentNamespace"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", sbom["creationInfo"]["created"])
    assert all(re.match(r"(Tool|Organization|Person): ", creator) for creator in sbom["creationInfo"]["creators"])
    packages = sbom["packages"]
    ids = {package["SPDXID"] for package in packages}
    assert len(ids) == len(packages) and all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", key) for key in ids)
    for package in packages:
        assert package["name"] and package["versionInfo"] and package["downloadLocation"] == "NOASSERTION", package
        assert package["filesAnalyzed"] is False, package
    ends = {(end["spdxElementId"], end["relationshipType"], end["relatedSpdxElement"]) for end in sbom["relationships"]}
    assert ends == {("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-image")} | {("SPDXRef-image", "CONTAINS", key) for key in ids - {"SPDXRef-image"}}
    installed = set(container.run("dpkg-query", "-W", "-f", "${Package} ${Version}\n").splitlines())
    listed = {f"{p['name']} {p['versionInfo']}" for p in packages if p["SPDXID"].startswith("SPDXRef-deb-")}
    assert listed == installed, listed ^ installed
    sums = dict(reversed(line.split()) for line in container.run("sh", "-c", "cd /usr/local && find bin lib -name '*bandana*' -exec sha256sum {} +").splitlines())
    sums = {os.path.basename(path): digest for path, digest in sums.items()}
    assert set(sums) == set(programs) | ({"libbandana.so.0"} if "bandana-fleet" in programs else set())
    assert sums == {p["name"]: p["checksums"][0]["checksumValue"] for p in packages if "checksums" in p}
    return len(packages)


def server_below(process):
    """The id of the bandana-server that `process` has started, however far down."""
    below, found = {process.pid}, None
    for entry in sorted((int(name) for name in os.listdir("/proc") if name.isdigit())):
        try:
            name, fields = re.fullmatch(r"\d+ \((.*)\) (.*)", processes.read(f"/proc/{entry}/stat").strip()).groups()
        except OSError:
            continue
        if int(fields.split()[1]) in below:
            below.add(entry)
            found = entry if name == "bandana-server" else found
    return found


def file_times(folder):
    """Everything of a root file system, with the time of its last change."""
    return {os.path.join(at, name): os.lstat(os.path.join(at, name)).st_mtime_ns
            for at, folders, names in os.walk(folder) for name in folders + names}


class Server:
    """bandana-server in its container; again and again on the same /data."""

    def __init__(self, images, container, children):
        self.container, self.children, self.starts = container, children, 0
        self.data = os.path.join(images.work, "data")
        self.config = os.path.join(images.work, "config")
        os.mkdir(self.config)
        os.mkdir(self.data, 0o700)
        os.chown(self.data, OWNER, OWNER)
        with open(os.path.join(self.config, "server.textproto"), "w", encoding="utf-8") as file:
            file.write(CONFIG)
        container.mount(self.data, "/data")
        container.mount(self.config, "/etc/bandana:ro")

    def start(self):
        self.starts += 1
        self.log = os.path.join(os.path.dirname(self.data), f"server-{self.starts}.log")
        self.process = self.children.start(self.log, self.container.command(
            "bandana-server", "--config", "/etc/bandana/server.textproto"))
        self.at = processes.await_ready(self.process, self.log)
        self.pid = server_below(self.process)
        assert f"Uid:\t{OWNER}\t{OWNER}\t{OWNER}\t{OWNER}\n" in processes.read(f"/proc/{self.pid}/status")
        return re.findall(r"^bandana-server token ([0-9a-f]{64})$", processes.read(self.log), re.M)

    def end(self, number):
        os.kill(self.pid, number)
        self.process.wait(60)

    def admin(self, *words):
        return self.container.run("bandana-ctl", f"--target={self.at['admin']}", "--token_file=/data/operator.token", *words)

    def applied(self):
        return int(json.loads(self.admin("stats", "--model=m", "--json=-"))["reports_applied"])


def check_recovery(images, server_container, tools):
    with processes.Children() as children:
        server = Server(images, server_container, children)
        before = file_times(server_container.folder)
        (token,) = server.start()
        token_file = os.path.join(server.data, "operator.token")
        with open(os.open(token_file, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
            file.write(token)
        os.chown(token_file, OWNER, OWNER)
        tools.mount(server.data, "/secrets:ro")
        health = ["bandana-ctl", "health", f"--target={server.at['listen']}"]
        assert server_container.run(*health) == "SERVING\n"
        tools.run("bandana-fleet", f"--target={server.at['listen']}", "--token_file=/secrets/operator.token", "--environment=sphere",
                  "--model=m", f"--rounds={ROUNDS}", "--in_flight=4")
        assert server.applied() == ROUNDS
        server.end(signal.SIGKILL)
        server_container.run(*health, code=1)
        assert not server.start(), "the second start showed a token"
        assert server.applied() == ROUNDS, "reports were lost"
        server.end(signal.SIGTERM)
        assert server.process.returncode == 0, processes.read(server.log)
        # Changes that a read-only root file system would have refused.
        after = file_times(server_container.folder)
        made_by_run = re.compile(r"/(dev|proc|sys|run|etc)(/|$)|/data$")
        written = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
                   and not made_by_run.match(path[len(server_container.folder):])}
        assert not written - {server_container.folder}, written


def main(root, programs, work):
    processes.need("buildah", "debootstrap", "git")
    if os.getuid() != 0:
        processes.skip("buildah makes the base image as root")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    images = Images(root, programs, work)
    try:
        print(images.build(), end="")
        inside = {"bandana-server": ["bandana-server", "bandana-ctl"], "bandana-tools": ["bandana-fleet", "bandana-ctl"]}
        containers = {name: check_description(images, name, names) for name, names in inside.items()}
        for name, names in inside.items():
            print(f"{name}: {check_sbom(containers[name], name, names)} packages in the SBOM")
        check_recovery(images, containers["bandana-server"], containers["bandana-tools"])
        print(f"{ROUNDS} reports survived a SIGKILL of the server")
    finally:
        images.remove()


if __name__ == "__main__":
    main(*[os.path.abspath(path) for path in sys.argv[1:]])
