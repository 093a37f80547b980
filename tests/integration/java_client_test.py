#!/usr/bin/env python3
"""tests/java/ClientTest.java against a real server. Usage: java_client_test.py SERVER JAR SOURCE_FOLDER [TEST]."""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import processes  # noqa: E402
import sdk_server  # noqa: E402

server, jar, source = sys.argv[1:4]
processes.need("java", "javac", "openssl")
with tempfile.TemporaryDirectory() as folder, processes.Children() as children:
    url = sdk_server.start(server, folder, children).url
    subprocess.run(["javac", "-cp", jar, "-d", folder, f"{source}/tests/java/ClientTest.java"], check=True)
    secure = f"{folder}/tls"
    os.mkdir(secure)
    tls = sdk_server.start_tls(server, secure, children).url
    done = subprocess.run(["java", "-Xcheck:jni", f"-Dbandana.tls={tls}", "-cp", f"{jar}:{folder}", "ClientTest", url, folder, *sys.argv[4:]], check=False)
sys.exit(done.returncode)
