#!/usr/bin/env python3
"""Wall and processor time of one decision without a window, selection and report, by the SDKs of Python and Java beside a server.

Usage: host_decisions.py SERVER python=FOLDER java=JAR [DECISIONS]. Stores are on the disk of the temporary folder. Prints, for each host,
`HOST wall_us=W processor_us=P`: of the host's process alone, without its start and the first 500 decisions.
"""

import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tests/support"))
WARM_UP = 500


def decide(package, url, store, decisions):
    """The Python host, in a process of its own."""
    sys.path.insert(0, package)
    import bandana

    with bandana.Client(url, "now", store=store) as client:
        def some(count):
            for _ in range(count):
                client.report(client.select("user", [[1.0, 0.0], [0.0, 1.0]]), 1.0)

        some(WARM_UP)
        wall, processor = time.perf_counter(), time.process_time()
        some(decisions)
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        assert client.flush(60)
    print(f"wall_us={wall / decisions * 1e6:.0f} processor_us={processor / decisions * 1e6:.0f}")


def main(server_program, hosts, decisions):
    import processes
    import sdk_server

    with tempfile.TemporaryDirectory() as folder, processes.Children() as children:
        url = sdk_server.start(server_program, folder, children).url
        for host, given in hosts.items():
            command = [sys.executable, __file__, "--python", given]
            if host == "java":
                subprocess.run(["javac", "-cp", given, "-d", folder, f"{HERE}/HostDecisions.java"], check=True)
                command = ["java", "-cp", f"{given}:{folder}", "HostDecisions", str(WARM_UP)]
            print(host, end=" ", flush=True)
            subprocess.run([*command, url, f"{folder}/{host}.store", str(decisions)], check=True)


if __name__ == "__main__":
    if sys.argv[1] == "--python":
        decide(*sys.argv[2:5], int(sys.argv[5]))
    else:
        named = dict(word.split("=", 1) for word in sys.argv[2:] if "=" in word)
        main(sys.argv[1], named, int(sys.argv[-1]) if sys.argv[-1].isdigit() else 2000)
