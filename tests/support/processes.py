"""Child processes of the tests in Python: they end with the test, and only they."""

import contextlib
import re
import shutil
import socket
import subprocess
import sys
import time

READY = re.compile(r"^bandana-server ready listen=(?P<listen>\S+) http=(?P<http>\S+)(?: admin=(?P<admin>\S+))?(?: api=(?P<api>\S+))?(?: peers=(?P<peers>\S+))?$",
                   re.M)
SKIPPED = 77


def need(*programs):
    """Ends the test as skipped where a program is missing."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        skip(f"{', '.join(missing)} not installed (./dev setup --full installs what the tests need)")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def free_port():
    """A port of loopback that nobody has at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(what, condition, seconds=60):
    """Returns what `condition` returns once it is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if result := condition():
            return result
        time.sleep(0.1)
    raise AssertionError(f"{what}: not within {seconds} s")


class Children(contextlib.ExitStack):
    """Processes that are stopped at the end of a `with`, the last first."""

    def start(self, log, command, **options):
        """Starts a process whose output goes to the file `log`."""
        out = self.enter_context(open(log, "w", encoding="utf-8"))
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, **options)
        self.callback(stop, process)
        return process


def stop(process):
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def await_ready(process, log, seconds=120):
    """The addresses of a bandana-server whose output goes to `log`, by name."""
    def ready():
        if process.poll() is not None:
            raise AssertionError(f"bandana-server ended with {process.returncode}:\n{read(log)}")
        return READY.search(read(log))
    return wait_for("bandana-server is ready", ready, seconds).groupdict()
