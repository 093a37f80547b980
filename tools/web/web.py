#!/usr/bin/env python3
"""Serves examples/web beside a server of its model, until SIGINT or SIGTERM.

Usage: web.py SERVER SOURCE_FOLDER WASM_MODULE [--port N]. Prints `bandana-web ready http://127.0.0.1:PORT`.
"""

import argparse
import http.server
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading

READY = re.compile(r"^bandana-server ready .* api=(\S+)", re.M)
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm"}


def files_of(source, module):
    """Path in the address bar to path of the file."""
    files = {"/": f"{source}/examples/web/index.html", "/sdk/bandana.wasm": module}
    for name in ("page.js", "stories.js", "style.css"):
        files[f"/{name}"] = f"{source}/examples/web/{name}"
    for name in os.listdir(f"{source}/client/js/src"):
        files[f"/sdk/src/{name}"] = f"{source}/client/js/src/{name}"
    return files


def handler_of(files, api):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # pylint: disable=invalid-name
            path = files.get(self.path.split("?")[0])
            if path is None:
                self.send_error(404)
                return
            with open(path, "rb") as file:
                body = file.read()
            if path.endswith("index.html"):
                body = body.replace(b'<html lang="en">', f'<html lang="en" data-api="{api[0]}">'.encode())
            self.send_response(200)
            self.send_header("Content-Type", TYPES.get(os.path.splitext(path)[1], "application/octet-stream"))
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("Content-Security-Policy", f"default-src 'self' 'wasm-unsafe-eval'; img-src data:; style-src 'self' 'unsafe-inline'; connect-src 'self' {api[0]}")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):  # pylint: disable=arguments-differ
            pass

    return Handler


STOPS = {signal.SIGINT, signal.SIGTERM}


def unblocked():
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("source")
    parser.add_argument("module")
    parser.add_argument("--port", type=int, default=0)
    args = parser.parse_args()
    api = [""]
    pages = http.server.ThreadingHTTPServer(("127.0.0.1", args.port), handler_of(files_of(args.source, args.module), api))
    origin = f"http://127.0.0.1:{pages.server_port}"
    with tempfile.TemporaryDirectory() as folder:
        config = f"{folder}/server.textproto"
        with open(f"{args.source}/examples/web/server.textproto", encoding="utf-8") as file, open(config, "w", encoding="utf-8") as out:
            out.write(file.read() + f'\napi {{ allowed_origins: "{origin}" }}\n')
        listen = [part for name in ("listen", "http_listen", "api_listen") for part in (f"--{name}", "127.0.0.1:0")]
        command = [args.server, "--config", config, *listen, "--data_dir", f"{folder}/data"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True, preexec_fn=unblocked) as server:
            said = []
            for line in server.stdout:
                said.append(line)
                if ready := READY.search(line):
                    api[0] = f"http://{ready.group(1)}"
                    break
            else:
                sys.exit("".join(said))
            threading.Thread(target=server.stdout.read, daemon=True).start()
            threading.Thread(target=pages.serve_forever, daemon=True).start()
            print(f"bandana-web ready {origin}", flush=True)
            signal.sigwait(STOPS)
            server.terminate()
            server.wait(30)
    pages.shutdown()


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    main()
