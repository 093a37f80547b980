#!/usr/bin/env python3
"""The compose file: docker-compose reads it, every file that it mounts is there, nothing is published beyond loopback, no container has
more rights than it needs, the servers differ in nothing but name and volume, and the secrets are each machine's own.

Usage: compose_test.py ROOT SERVER. Exits with 77 (skipped) where docker-compose, openssl or PyYAML is missing.
"""

import os
import re
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import processes  # noqa: E402

SERVERS = ["server-a", "server-b"]


def load(root):
    import yaml  # pylint: disable=import-outside-toplevel
    out = subprocess.run(["docker-compose", "-f", f"{root}/deploy/compose/compose.yml", "config"], check=True, stdout=subprocess.PIPE, text=True)
    return yaml.safe_load(out.stdout)


def check_services(root, stack):
    services = stack["services"]
    assert {*SERVERS, "database", "proxy", "load-private", "load-plain", "prometheus", "grafana"} <= set(services)
    assert stack["networks"]["inside"]["internal"] is True
    for name, service in services.items():
        assert service["read_only"] is True and service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        for port in service.get("ports", []):
            assert str(port).startswith("127.0.0.1:"), f"{name} publishes {port}"
        for volume in service["volumes"]:
            source = volume.split(":")[0] if isinstance(volume, str) else volume["source"]
            if source.startswith("/") and "/secrets/" not in source:
                assert os.path.isfile(source), f"{name} mounts {source}, which is not there"
                assert source.startswith(f"{root}/deploy/"), source
    for name in [*SERVERS, "database"]:
        assert set(services[name]["networks"]) == {"inside"} and "ports" not in services[name], name
    for service in services.values():
        for key, value in (service.get("environment") or {}).items():
            # The name of a file with a password is no secret.
            assert key.endswith("_FILE") or not ("secret" in str(value).lower() or "password" in key.lower()), key


def mounts(service):
    """Source by target."""
    return {volume.split(":")[1]: volume.split(":")[0] for volume in service["volumes"]}


def check_servers(root, stack):
    """One configuration and the same keys; a name, a volume and an address of its own."""
    services = stack["services"]
    config = processes.read(f"{root}/deploy/compose/server.textproto.in")
    peers = re.search(r'^peers \{ listen: "0\.0\.0\.0:(\d+)" \}', config, re.M).group(1)
    drain = int(re.search(r"drain_delay \{ seconds: (\d+) \}", config).group(1))
    for name in SERVERS:
        server = services[name]
        assert server["hostname"] == name and server["command"] == [f"--peers_address={name}:{peers}"], name
        assert server["depends_on"]["database"]["condition"] == "service_healthy"
        seconds = re.fullmatch(r"(?:(\d+)m)?(?:(\d+)s)?", server["stop_grace_period"]).groups(default="0")
        assert 60 * int(seconds[0]) + int(seconds[1]) >= drain + 5 + 60, "drain_delay, 5 s for calls in flight, a minute for checkpoints"
        assert f"'{name}:7071'" in processes.read(f"{root}/deploy/compose/prometheus.yml"), f"Prometheus does not scrape {name}"
    one, other = (services[name] for name in SERVERS)
    assert mounts(one)["/etc/bandana"] == mounts(other)["/etc/bandana"] and mounts(one)["/data"] != mounts(other)["/data"]
    own = ("hostname", "command", "volumes")
    assert {k: v for k, v in one.items() if k not in own} == {k: v for k, v in other.items() if k not in own}
    proxy = services["proxy"]["environment"]
    assert {proxy["BANDANA_SERVER_A"], proxy["BANDANA_SERVER_B"]} == {f"{name}:7070" for name in SERVERS}


def check_database(stack):
    """It is set up by its own files, as a user who is not root, and keeps its data in a volume."""
    database = stack["services"]["database"]
    assert database["image"] == "postgres:15" and database["user"] == "999:999"
    found = mounts(database)
    assert found["/var/lib/postgresql/data"] == "database" and "database" in stack["volumes"]
    assert sorted(os.path.basename(source) for target, source in found.items() if target.startswith("/docker-entrypoint-initdb.d/")) == \
        ["password.sql", "role.sql"]
    rules = [line.split() for line in processes.read(found["/etc/bandana-database/pg_hba.conf"]).splitlines() if not line.startswith("#")]
    assert [rule for rule in rules if rule[0] != "local"] == [["host", "bandana", "bandana", "samenet", "scram-sha-256"]], rules
    assert "hba_file=/etc/bandana-database/pg_hba.conf" in database["command"]


def check_secrets(root, server):
    with tempfile.TemporaryDirectory() as folder:
        made = []
        for name in ("a", "b"):
            out = os.path.join(folder, name)
            prepare = [f"{root}/deploy/compose/prepare.sh", out]
            subprocess.run(prepare, check=True, capture_output=True)
            files = ["app/app.token", "server/ops.token", "proxy/proxy.pem", "server/server.textproto", "server/log.key", "server/noise.key",
                     "server/database.pass", "database/bandana.password", "database/superuser.password"]
            content = {file: processes.read(os.path.join(out, file)) for file in files}
            subprocess.run(prepare, check=True, capture_output=True)
            assert content == {file: processes.read(os.path.join(out, file)) for file in files}, "a second run has changed something"
            for file in files:
                assert stat.S_IMODE(os.stat(os.path.join(out, file)).st_mode) == 0o600, file
            for file in files:
                assert file == "server/server.textproto" or content[file] not in content["server/server.textproto"], f"{file} is in the configuration"
            assert content["server/database.pass"] == f"*:*:bandana:bandana:{content['database/bandana.password']}\n"
            for one, other in (("server/log.key", "server/noise.key"), ("database/bandana.password", "database/superuser.password")):
                assert content[one] != content[other], f"{one} and {other} are the same"
            if os.geteuid() == 0:
                owners = {name: os.stat(os.path.join(out, name)).st_uid for name in ("server", "app", "proxy", "database")}
                assert owners == {"server": 10001, "app": 10001, "proxy": 10001, "database": 999}, owners
            made.append(content)
        for file in made[0]:
            assert made[0][file] != made[1][file], f"two machines have the same {file}"
        said = subprocess.run([server, "--check_config", "--config", f"{folder}/a/server/server.textproto", "--peers_address=server-a:7074"],
                              check=True, stdout=subprocess.PIPE, text=True).stdout
        assert "access app by token: select, report of all models" in said, said
        assert "peers 0.0.0.0:7074, reached at server-a:7074, TLS by key_file" in said, said
        assert "access ops by token: admin of all models" in said and "access anybody else: none" in said, said


def main(root, server):
    processes.need("docker-compose", "openssl")
    try:
        stack = load(root)
    except ImportError:
        processes.skip("PyYAML is not installed (./dev setup --full)")
    check_services(root, stack)
    check_servers(root, stack)
    check_database(stack)
    check_secrets(root, server)


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), sys.argv[2])
