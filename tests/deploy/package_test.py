#!/usr/bin/env python3
"""The Debian package in a bare Debian 12: installed, started, upgraded, removed and purged.

lintian finds no error and no warning. The service's own commands start it as its own user on the configuration that the package brings,
and it decides by curl. An upgrade keeps data and edits of the configuration, removal keeps them, purging takes both. The unit is checked by
systemd-analyze. No systemd runs inside, so what is not seen here: that systemd starts, restarts and stops the unit, and its sandbox.

Usage: package_test.py ROOT BUILD WORK. ROOT is the repository, BUILD a build folder with all programs, WORK a folder of the test's own.
Exits with 77 (skipped) where debootstrap, debhelper or lintian is missing, or without root.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import processes  # noqa: E402

SUITE = "bookworm"
CONFIG = "/etc/bandana/server.textproto"
DATA = "/var/lib/bandana"
API = "http://127.0.0.1:7073/v1/models/shop"


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout[-4000:]}"
    return done.stdout


def package(root, build, work):
    """The package of this build, made in a clean clone."""
    clone = f"{work}/clone"
    run("git", "clone", "--quiet", "--no-hardlinks", root, clone)
    run("debian/rules", "binary", cwd=clone, env={**os.environ, "BANDANA_BUILD": build})
    (made,) = glob.glob(f"{clone}/build/package/*.deb")
    print(run("lintian", "--fail-on", "error,warning", "--allow-root", made), end="")
    left = run("git", "status", "--porcelain", cwd=clone)
    assert not left, f"making the package leaves {left}"
    return made


def newer(made, work):
    """The package of a later version, whose configuration says something else."""
    tree = f"{work}/newer"
    run("dpkg-deb", "-R", made, tree)
    control = f"{tree}/DEBIAN/control"
    text = processes.read(control)
    with open(control, "w", encoding="utf-8") as file:
        file.write(re.sub(r"^Version: (.*)$", r"Version: \1+later", text, flags=re.M))
    with open(tree + CONFIG, "a", encoding="utf-8") as file:
        file.write("# of the later version\n")
    run("dpkg-deb", "--root-owner-group", "-b", tree, f"{work}/later.deb")
    return f"{work}/later.deb"


class Machine:
    """A root of its own. A script that runs `alone` has no network but its loopback, and no process but its own."""

    def __init__(self, folder):
        self.folder = folder
        mirrors = run("apt-get", "indextargets", "--format", "$(CODENAME) $(REPO_URI)", "Created-By: Packages")
        mirror = dict(line.split() for line in mirrors.splitlines() if line.strip()).get(SUITE, "http://deb.debian.org/debian")
        run("debootstrap", "--variant=minbase", SUITE, folder, mirror)
        self.inside("apt-get", "update", "-qq")

    def inside(self, *command):
        # Programs find their own library by /proc.
        return run("unshare", "--mount", "sh", "-c", f'mount -t proc proc {self.folder}/proc && exec chroot {self.folder} "$@"', "sh", *command,
                   env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"})

    def install(self, *packages):
        return self.inside("apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages)

    def take(self, path):
        return shutil.copy(path, f"{self.folder}/tmp/")[len(self.folder):]

    def path(self, inside):
        return self.folder + inside

    def alone(self, script):
        """Runs a shell script; whatever it started ends with it."""
        with open(f"{self.folder}/tmp/script", "w", encoding="utf-8") as file:
            file.write("set -eu\n" + script)
        return run("unshare", "--net", "--pid", "--fork", "--kill-child", "--mount", "sh", "-c",
                   f"ip link set lo up && mount -t proc proc {self.folder}/proc && exec chroot {self.folder} sh /tmp/script")


def serve(machine, script):
    """Starts the server as the unit does, runs the script, and stops the server as systemd does."""
    unit = processes.read(machine.path("/lib/systemd/system/bandana-server.service"))
    before, start = (re.search(rf"^{key}=(.*)$", unit, re.M).group(1) for key in ("ExecStartPre", "ExecStart"))
    user = re.search(r"^User=(.*)$", unit, re.M).group(1)
    return machine.alone(f"""
as="setpriv --reuid {user} --regid {user} --clear-groups --no-new-privs"
$as {before} >/dev/null
$as {start} >/tmp/log 2>&1 &
server=$!
for attempt in $(seq 300); do
  grep -q '^bandana-server ready' /tmp/log && break
  kill -0 $server || {{ cat /tmp/log; exit 1; }}
  sleep 0.1
done
grep '^bandana-server ready' /tmp/log
{script}
kill -TERM $server
wait $server
""")


def decide(machine, root):
    """The decision that README.md begins with, and its reward, by curl."""
    first = re.search(r"^```sh\n\./dev package\n.*?^(curl .*?)^```$", processes.read(f"{root}/README.md"), re.M | re.S).group(1)
    out = serve(machine, f"""
cat >/tmp/first <<'END'
{first}END
sh /tmp/first >/tmp/decision
grep -q '"armNames":' /tmp/decision
token=$(sed 's/.*"token":"\\([^"]*\\)".*/\\1/' /tmp/decision)
curl -sf {API}:report -d '{{"outcomes": [{{"token": "'"$token"'", "reward": 1}}]}}'
curl -sf http://127.0.0.1:7071/readyz
""")
    assert '{"results":[{"code":"APPLIED"}]}' in out, out


def applied(machine):
    out = serve(machine, "bandana-ctl --target 127.0.0.1:7070 stats --model shop --json=- >/tmp/stats")
    assert "ready listen=127.0.0.1:7070" in out, out
    return int(json.loads(processes.read(machine.path("/tmp/stats")))["reports_applied"])


def check_installed(machine, version):
    for program in ("bandana-server", "bandana-ctl", "bandana-fleet", "bandana-import", "bandana-audit"):
        assert machine.inside(program, "--version") == f"{program} {version}\n"
    stat = os.stat(machine.path(DATA))
    user = re.search(r"^bandana:x:(\d+):(\d+):.*:/var/lib/bandana:/usr/sbin/nologin$", processes.read(machine.path("/etc/passwd")), re.M)
    assert (stat.st_uid, stat.st_gid, stat.st_mode & 0o777) == (int(user.group(1)), int(user.group(2)), 0o700), stat
    assert os.path.islink(machine.path("/etc/systemd/system/multi-user.target.wants/bandana-server.service"))
    found = machine.inside("systemd-analyze", "verify", "--man=no", "/lib/systemd/system/bandana-server.service")
    assert not found, found
    # A slim root leaves manuals out; the package has them all the same.
    listed = machine.inside("dpkg", "-L", "bandana-server")
    assert len(re.findall(r"^/usr/share/man/man[18]/bandana-\w+\.[18]\.gz$", listed, re.M)) == 5, listed


def main(root, build, work):
    processes.need("debootstrap", "dh", "lintian", "git", "ip", "unshare")
    if os.getuid() != 0:
        processes.skip("a root of its own needs root")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    made = package(root, build, work)
    version = re.search(r"bandana-server_([\d.]+)_", made).group(1)
    machine = Machine(f"{work}/root")
    machine.install("curl", "systemd")
    machine.install(machine.take(made))
    check_installed(machine, version)
    decide(machine, root)
    assert applied(machine) == 1

    config = machine.path(CONFIG)
    edited = processes.read(config) + "# an operator's\n"
    with open(config, "w", encoding="utf-8") as file:
        file.write(edited)
    later = machine.take(newer(made, work))
    machine.inside("dpkg", "--force-confdef", "--force-confold", "-i", later)
    assert "+later" in machine.inside("dpkg-query", "-W", "-f", "${Version}", "bandana-server")
    assert processes.read(config) == edited and "# of the later version" in processes.read(config + ".dpkg-dist")
    assert applied(machine) == 1, "the upgrade lost a report"

    machine.inside("dpkg", "-r", "bandana-server")
    assert not glob.glob(machine.path("/usr/bin/bandana-*"))
    assert processes.read(config) == edited and os.listdir(machine.path(DATA))
    machine.inside("dpkg", "-P", "bandana-server")
    left = [path for path in (CONFIG, DATA, "/usr/lib/bandana", "/usr/share/doc/bandana-server", "/lib/systemd/system/bandana-server.service")
            if os.path.lexists(machine.path(path))]
    assert not left, f"purging leaves {left}"
    print("installed, started, upgraded, removed and purged")


if __name__ == "__main__":
    paths = [os.path.abspath(path) for path in sys.argv[1:]]
    try:
        main(*paths)
    finally:
        shutil.rmtree(paths[2], ignore_errors=True)
