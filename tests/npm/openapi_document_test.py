#!/usr/bin/env python3
"""The server's /openapi.json is an OpenAPI document by the published schema, and names what the server answers.

Usage: openapi_document_test.py SERVER MODULES, where MODULES has node_modules by `npm ci` (./dev setup --full). Exits with 77
(skipped) where node or the modules are missing.
"""

import copy
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import processes  # noqa: E402

CONFIG = """listen: "127.0.0.1:0" http_listen: "127.0.0.1:0" api_listen: "127.0.0.1:0"
models { name: "news" dimension: 2 shared {} mode: NON_PRIVATE }
"""


def check(modules, document):
    out = subprocess.run(["node", f"{HERE}/openapi_check.mjs", modules], check=False, capture_output=True, text=True,
                         input=json.dumps(document))
    return json.loads(out.stdout) if out.returncode == 0 else {"valid": False, "errors": out.stderr}


def check_document(modules, document):
    result = check(modules, document)
    assert result["valid"], result
    assert document["openapi"].startswith(result["version"]), (document["openapi"], result["version"])

    # The checker does find what is wrong.
    broken = copy.deepcopy(document)
    next(iter(next(iter(broken["paths"].values())).values()))["responses"] = []
    assert not check(modules, broken)["valid"]
    dangling = json.loads(json.dumps(document).replace('"#/components/schemas/', '"#/components/schemas/no', 1))
    assert not check(modules, dangling)["valid"]


def check_paths(api, document):
    """Each path is there: an empty call is answered by the method, not by `no such path`."""
    for path, methods in document["paths"].items():
        for method in methods:
            if method.startswith("x-") or method == "parameters":
                continue
            url = api + path.replace("{model}", "news")
            assert "{" not in url, f"a parameter of {path} that this test does not know"
            request = urllib.request.Request(url, method=method.upper(), data=b"{}" if method == "post" else None,
                                             headers={"content-type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=10) as response:
                    text = response.read().decode()
            except urllib.error.HTTPError as error:
                text = error.read().decode()
            assert "no such path" not in text and "this path takes" not in text, (method, path, text)


def main(program, modules):
    if shutil.which("node") is None or not os.path.isdir(f"{modules}/node_modules/@seriousme/openapi-schema-validator"):
        processes.skip("node or its modules are missing; ./dev setup --full installs them")
    with tempfile.TemporaryDirectory() as folder, processes.Children() as children:
        with open(f"{folder}/server.textproto", "w", encoding="utf-8") as file:
            file.write(CONFIG)
        log = f"{folder}/server.log"
        server = children.start(log, [program, "--config", f"{folder}/server.textproto", "--data_dir", f"{folder}/data"])
        api = "http://" + processes.await_ready(server, log)["api"]
        with urllib.request.urlopen(f"{api}/openapi.json", timeout=10) as response:
            document = json.load(response)
        check_document(modules, document)
        check_paths(api, document)
        print(f"{len(document['paths'])} paths of an OpenAPI {document['openapi']} document")


if __name__ == "__main__":
    main(*sys.argv[1:])
