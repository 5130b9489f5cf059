#!/usr/bin/env python3
"""Shows that `omnirt pull` and huggingface_hub share one cache, both ways.

  build/goldens-venv/bin/python tools/hub/readback.py build/release/omnirt

Serves models/emoji as a repository from a port of this machine. Then what omnirt has pulled is read
by huggingface_hub without a byte of content sent, and what huggingface_hub has fetched by omnirt.
"""

import hashlib
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "models" / "emoji"
ID, COMMIT = "someone/dream", "0123456789abcdef0123456789abcdef01234567"
LARGE = 1 << 20


def files():
    return {
        str(path.relative_to(FOLDER)): path.read_bytes()
        for path in sorted(FOLDER.rglob("*"))
        if path.is_file()
    }


def sha1(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class Hub(http.server.BaseHTTPRequestHandler):
    content_sent = 0
    files = files()

    def log_message(self, *_):
        pass

    def listing(self):
        siblings = []
        for name, data in self.files.items():
            entry = {"rfilename": name, "size": len(data), "blobId": sha1(data)}
            if len(data) > LARGE:
                entry["lfs"] = {"sha256": sha256(data), "size": len(data), "pointerSize": 100}
            siblings.append(entry)
        return {"id": ID, "modelId": ID, "sha": COMMIT, "siblings": siblings, "private": False}

    def tree(self):
        entries = []
        for name, data in self.files.items():
            entry = {"type": "file", "path": name, "size": len(data), "oid": sha1(data)}
            if len(data) > LARGE:
                entry["lfs"] = {"oid": sha256(data), "size": len(data), "pointerSize": 100}
            entries.append(entry)
        return entries

    def answer(self, head):
        path = urllib.parse.unquote(urllib.parse.urlparse(self.path).path)
        if path.startswith(f"/api/models/{ID}/tree/"):
            body, headers = json.dumps(self.tree()).encode(), {}
        elif path.startswith(f"/api/models/{ID}"):
            body, headers = json.dumps(self.listing()).encode(), {}
        elif path.startswith(f"/{ID}/resolve/"):
            body = self.files.get(path.split("/", 5)[5])
            if body is None:
                self.send_error(404)
                return
            large = len(body) > LARGE
            headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{sha256(body) if large else sha1(body)}"'}
            if large:
                headers |= {"X-Linked-Etag": headers["ETag"], "X-Linked-Size": str(len(body))}
            Hub.content_sent += 0 if head else len(body)
        else:
            self.send_error(404)
            return
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if not head:
            self.wfile.write(body)

    def do_GET(self):
        self.answer(head=False)

    def do_HEAD(self):
        self.answer(head=True)


def main():
    program = sys.argv[1]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ |= {
        "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
        "NO_PROXY": "127.0.0.1",
    }
    import huggingface_hub

    def pull(cache):
        environment = os.environ | {"HF_HUB_CACHE": cache}
        done = subprocess.run(
            [program, "pull", ID, "--all", "-q"], env=environment, check=True, stdout=subprocess.PIPE
        )
        return done.stdout.decode().strip()

    def same(folder):
        return all((pathlib.Path(folder) / n).read_bytes() == d for n, d in Hub.files.items())

    with tempfile.TemporaryDirectory() as cache:
        snapshot = pull(cache)
        sent = Hub.content_sent
        read = huggingface_hub.snapshot_download(ID, cache_dir=cache, local_files_only=True)
        again = huggingface_hub.snapshot_download(ID, cache_dir=cache)
        scan = huggingface_hub.scan_cache_dir(cache)
        assert snapshot == read == again and same(read), (snapshot, read, again)
        assert Hub.content_sent == sent, "huggingface_hub fetched content again"
        assert not scan.warnings and len(scan.repos) == 1, scan.warnings
        revisions = [r for repo in scan.repos for r in repo.revisions]
        assert [(r.commit_hash, sorted(r.refs)) for r in revisions] == [(COMMIT, ["main"])]
        print(f"huggingface_hub {huggingface_hub.__version__} reads what omnirt pulled:",
              f"{len(Hub.files)} files, {scan.size_on_disk} bytes")
    with tempfile.TemporaryDirectory() as cache:
        read = huggingface_hub.snapshot_download(ID, cache_dir=cache)
        sent = Hub.content_sent
        assert pull(cache) == read and same(read)
        assert Hub.content_sent == sent, "omnirt fetched content again"
        print("omnirt reads what huggingface_hub fetched")


if __name__ == "__main__":
    main()
