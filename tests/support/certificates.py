"""Certificates made on the spot by openssl; no key of a test is ever stored in the project."""

import subprocess


def _openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def authority(folder, name):
    """An authority with a key of its own: folder/NAME.pem, the path of which is returned, and folder/NAME.key."""
    path = f"{folder}/{name}"
    _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}", "-days", "1",
             "-keyout", f"{path}.key", "-out", f"{path}.pem")
    return f"{path}.pem"


def server(folder, name, signer, host):
    """A server's certificate for `host`, signed by the authority `signer`: folder/NAME.pem and folder/NAME.key."""
    path, ca = f"{folder}/{name}", f"{folder}/{signer}"
    _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}", "-days", "1",
             "-addext", f"subjectAltName=DNS:{host}", "-addext", "basicConstraints=critical,CA:FALSE",
             "-CA", f"{ca}.pem", "-CAkey", f"{ca}.key", "-keyout", f"{path}.key", "-out", f"{path}.pem")
