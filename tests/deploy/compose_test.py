#!/usr/bin/env python3
"""The compose file: docker-compose reads it, every file that it mounts is there, nothing is published beyond loopback, no container has
more rights than it needs, and the secrets are each machine's own.

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


def load(root):
    import yaml  # pylint: disable=import-outside-toplevel
    out = subprocess.run(["docker-compose", "-f", f"{root}/deploy/compose/compose.yml", "config"], check=True, stdout=subprocess.PIPE, text=True)
    return yaml.safe_load(out.stdout)


def check_services(root, stack):
    services = stack["services"]
    assert {"server", "proxy", "load-private", "load-plain", "prometheus", "grafana"} <= set(services)
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
    assert set(services["server"]["networks"]) == {"inside"} and "ports" not in services["server"]
    for service in services.values():
        assert not any("secret" in str(v).lower() or "password" in k.lower() for k, v in (service.get("environment") or {}).items())
    seconds = re.fullmatch(r"(?:(\d+)m)?(?:(\d+)s)?", services["server"]["stop_grace_period"]).groups(default="0")
    drain = int(re.search(r"drain_delay \{ seconds: (\d+) \}", processes.read(f"{root}/deploy/compose/server.textproto.in")).group(1))
    assert 60 * int(seconds[0]) + int(seconds[1]) >= drain + 5 + 60, "drain_delay, 5 s for calls in flight, a minute for checkpoints"


def check_secrets(root, server):
    with tempfile.TemporaryDirectory() as folder:
        made = []
        for name in ("a", "b"):
            out = os.path.join(folder, name)
            prepare = [f"{root}/deploy/compose/prepare.sh", out]
            subprocess.run(prepare, check=True, capture_output=True)
            files = ["app/app.token", "server/ops.token", "proxy/proxy.pem", "server/server.textproto"]
            content = {file: processes.read(os.path.join(out, file)) for file in files}
            subprocess.run(prepare, check=True, capture_output=True)
            assert content == {file: processes.read(os.path.join(out, file)) for file in files}, "a second run has changed something"
            for file in files:
                assert stat.S_IMODE(os.stat(os.path.join(out, file)).st_mode) == 0o600, file
            assert content["app/app.token"] not in content["server/server.textproto"], "a token stands in the configuration"
            made.append(content)
        for file in made[0]:
            assert made[0][file] != made[1][file], f"two machines have the same {file}"
        said = subprocess.run([server, "--check_config", "--config", f"{folder}/a/server/server.textproto"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        assert "access app by token: select, report of all models" in said, said
        assert "access ops by token: admin of all models" in said and "access anybody else: none" in said, said


def main(root, server):
    processes.need("docker-compose", "openssl")
    try:
        stack = load(root)
    except ImportError:
        processes.skip("PyYAML is not installed (./dev setup --full)")
    check_services(root, stack)
    check_secrets(root, server)


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), sys.argv[2])
