"""Publishers of data, on loopback: files as they serve them, and sources that point there."""

import io
import threading
import zipfile
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from rpac.paper.download import SOURCES


@contextmanager
def served(files):
    """Serve the files by path on loopback; yield the address and the list of requests."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            body = files.get(self.path.lstrip("/"))
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def at(base, name, *, own_sums=()):
    """Return the table of sources with this dataset at another address.

    Files are named as in the table; for those in `own_sums` (name to content) the sum of the
    content takes the place of the published one.
    """
    moved = [
        replace(
            remote,
            url=base + remote.name,
            md5=remote.sum(own_sums[remote.name]) if remote.name in own_sums else remote.md5,
        )
        for remote in SOURCES[name]
    ]
    return {**SOURCES, name: moved}


def zipped(name, content):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as held:
        held.writestr("Index", "about")
        held.writestr(f"inside/{name}", content)
    return made.getvalue()
