"""A stand-in for W&B's server on the loopback: keeps what a client sends, and answers resuming.

It knows of W&B's GraphQL what the client asks for to start, resume and end a run, and of its file
stream that lines are stored at their offset, and that a history which starts at 0 replaces the one
that was there (wandb issue 5865). `break_after` makes it fail half way.
"""

import base64
import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HISTORY, SUMMARY = "wandb-history.jsonl", "wandb-summary.json"


class Page:
    """A run as the server has it."""

    def __init__(self):
        self.settings = {}  # of the last upsert
        self.lines = {}  # offset -> line of the history
        self.sent = 0  # history lines that arrived, sent again or not
        self.summary = {}
        self.exits = []
        self.artifacts = []

    @property
    def history(self):
        return [json.loads(self.lines[n]) for n in sorted(self.lines)]

    @property
    def config(self):
        config = json.loads(self.settings.get("config") or "{}")
        return {key: item["value"] for key, item in config.items()}

    def state(self):
        """What a second upload must not change: all but the client's account of itself."""
        config = self.config | {"_wandb": None}
        summary = self.summary | {"_step": None}  # which the client drops where it sends no line
        return json.loads(json.dumps([self.history, summary, config, self.exits[-1:]]))


class FakeWandb:
    def __init__(self):
        self.pages = {}
        self.files = {}
        self.unknown = []
        self.deleted = set()  # names of runs that were deleted in the browser
        self.break_after = None  # history lines that it still takes before it refuses all
        self.refused = 0  # requests
        self.held = None  # an Event: the first history is kept, but not answered until it is set
        self.stored = threading.Event()  # a history has come
        self.lock = threading.Lock()

    def __enter__(self):
        handler = type("Handler", (_Handler,), {"fake": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        if self.held:
            self.held.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_port}"

    def page(self, project, name):
        return self.pages.setdefault((project, name), Page())

    def stream(self, project, name, sent):
        """Stores a request of the file stream; returns whether it is answered."""
        page = self.page(project, name)
        for file, chunk in sent.get("files", {}).items():
            if file == HISTORY:
                if chunk["offset"] == 0:
                    page.lines.clear()
                for n, line in enumerate(chunk["content"], start=chunk["offset"]):
                    if self.break_after is not None:
                        if not self.break_after:
                            self.refused += 1
                            return False
                        self.break_after -= 1
                    page.lines[n] = line
                    page.sent += 1
                self.stored.set()
            elif file == SUMMARY:
                page.summary = json.loads(chunk["content"][-1])
        if sent.get("complete"):
            page.exits.append(sent["exitcode"])
        return True

    def answer(self, operation, given):
        entity = {"id": "entity", "name": given.get("entity") or "lab"}
        if operation == "Viewer":
            return {"viewer": {"id": "user", "entity": "lab", "flags": "{}", "username": "me"}}
        if operation == "ServerFeaturesQuery":
            return {"serverInfo": {"features": []}}
        if operation == "OrganizationCoreWeaveOrganizationID":
            return {"entity": None}
        if operation == "RunResumeStatus":
            model = {"id": "project", "name": given["project"], "entity": entity, "bucket": None}
            key = given["project"], given["name"]
            if key in self.pages and self.pages[key].settings:
                model["bucket"] = self._bucket(given["name"], self.pages[key])
            return {"model": model}
        if operation == "UpsertBucket":
            page = self.page(given["project"], given["name"])
            page.settings |= {key: value for key, value in given.items() if value is not None}
            project = {"id": "project", "name": given["project"], "entity": entity}
            bucket = self._bucket(given["name"], page) | {"project": project, "sweepName": None}
            bucket["historyLineCount"] = None  # said of a fork only
            return {"upsertBucket": {"bucket": bucket, "inserted": True}}
        if operation == "CreateRunFiles":
            files = [
                {"name": name, "uploadUrl": f"{self.url}/put/{given['run']}/{name}"}
                for name in given["files"]
            ]
            return {"createRunFiles": {"runID": "run", "uploadHeaders": [], "files": files}}
        if operation == "ArtifactType":
            return {"project": {"artifact": None}}
        if operation == "CreateArtifact":  # its files count as known, so that none is sent
            wanted = given["input"]
            self.page(wanted["projectName"], wanted["runName"]).artifacts.append(wanted)
            artifact = {"id": "artifact", "state": "COMMITTED", "artifactSequence": None}
            return {"createArtifact": {"artifact": artifact | {"digest": wanted["digest"]}}}
        self.unknown.append(operation)
        return {}

    def _bucket(self, name, page):
        lines = [page.lines[n] for n in sorted(page.lines)]
        return {
            "id": "run",
            "name": name,
            "displayName": page.settings.get("displayName"),
            "description": None,
            "config": page.settings.get("config") or "{}",
            "summaryMetrics": json.dumps(page.summary),
            "historyLineCount": len(lines),
            "historyTail": json.dumps(lines[-1:]),
            "eventsLineCount": 0,
            "eventsTail": "[]",
            "logLineCount": 0,
            "tags": page.settings.get("tags") or [],
            "notes": None,
            "wandbConfig": json.dumps({"t": 1}) if page.settings else "{}",
        }


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A client that goes away is no error here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fake: FakeWandb

    def log_message(self, *_):
        pass

    def _reply(self, content, status=200, **headers):
        body = json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def _body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def do_PUT(self):
        body = self._body()
        self.fake.files[self.path.removeprefix("/put/")] = body
        self._reply({}, ETag=base64.b64encode(hashlib.md5(body).digest()).decode())

    def do_GET(self):
        self._reply({})

    def do_POST(self):
        body = json.loads(self._body() or b"{}")
        if self.path.endswith("/graphql"):
            operation = re.search(r"(?:query|mutation)\s+(\w+)", body["query"])[1]
            given = body.get("variables") or {}
            if operation == "UpsertBucket" and given["name"] in self.fake.deleted:
                words = f"run {given['name']} was previously created and deleted"
                self._reply({"errors": [{"message": words}]}, 409)
                return
            with self.fake.lock:
                answer = self.fake.answer(operation, given)
            self._reply({"data": answer})
        elif self.path.endswith("/file_stream"):
            *_, project, name, _ = self.path.split("/")
            with self.fake.lock:
                taken = self.fake.stream(project, name, body)
            if self.fake.held and HISTORY in body.get("files", {}):
                self.fake.held.wait(60)
            self._reply({}, 200 if taken else 404)
        else:
            self._reply({})
