"""Drives Chromium over its DevTools protocol: what .ci/dashboard says. Only Python's standard library."""

import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request


class Browser:
    """One page of a headless Chromium, and a WebSocket to it (RFC 6455)."""

    def __init__(self, program):
        self.folder = tempfile.mkdtemp(prefix="dashboard-")
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--remote-debugging-port=0", f"--user-data-dir={self.folder}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port_file = os.path.join(self.folder, "DevToolsActivePort")
        wait_for("Chromium to start", lambda: os.path.exists(port_file) and open(port_file).read().count("\n") >= 1, 60)
        port = int(open(port_file).read().split("\n")[0])
        pages = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json"))
        url = next(page for page in pages if page["type"] == "page")["webSocketDebuggerUrl"]
        path = url.split(str(port), 1)[1]
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            (f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            self.buffer += self.socket.recv(4096)
        self.buffer = self.buffer.split(b"\r\n\r\n", 1)[1]
        self.number = 0
        self.problems = []

    def read(self, count):
        while len(self.buffer) < count:
            data = self.socket.recv(1 << 16)
            if not data:
                raise RuntimeError("Chromium has closed the connection")
            self.buffer += data
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def message(self):
        text = b""
        while True:
            first, second = self.read(2)
            length = second & 127
            if length == 126:
                length = struct.unpack(">H", self.read(2))[0]
            elif length == 127:
                length = struct.unpack(">Q", self.read(8))[0]
            data = self.read(length)
            if first & 15 in (0, 1):
                text += data
                if first & 128:
                    return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        data = json.dumps({"id": self.number, "method": method, "params": parameters}).encode()
        mask = os.urandom(4)
        head = bytes([129]) + (
            bytes([128 | len(data)]) if len(data) < 126
            else bytes([254]) + struct.pack(">H", len(data)) if len(data) < 65536
            else bytes([255]) + struct.pack(">Q", len(data)))
        self.socket.sendall(head + mask + bytes(byte ^ mask[place % 4] for place, byte in enumerate(data)))
        while True:
            message = self.message()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            if message.get("method") == "Runtime.exceptionThrown":
                self.problems.append(message["params"]["exceptionDetails"])
            if message.get("method") == "Log.entryAdded" and message["params"]["entry"]["level"] == "error":
                self.problems.append(message["params"]["entry"])
            if message.get("method") == "Page.javascriptDialogOpening":
                self.problems.append("a name was run as code")

    def run(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def picture(self, name, width, height, scheme, whole=True):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        time.sleep(0.6)
        if self.run("document.documentElement.scrollWidth > innerWidth"):
            raise RuntimeError(f"the page is wider than {width} px")
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(name, "wb") as file:
            file.write(base64.b64decode(data))

    def press(self, key, code):
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)

    def close(self):
        self.process.terminate()
        self.process.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)


def wait_for(what, condition, limit):
    """Returns the seconds that it took."""
    start = time.monotonic()
    while not condition():
        if time.monotonic() - start > limit:
            raise RuntimeError(f"waited {limit} s in vain for {what}")
        time.sleep(0.02)
    return time.monotonic() - start


def main():
    program, demo, *options = sys.argv[1:]
    folder = os.path.join(".build", "dashboard")
    os.makedirs(folder, exist_ok=True)
    service = subprocess.Popen([demo], env={**os.environ, "PORT": "0"}, stdout=subprocess.PIPE, text=True)
    browser = None
    try:
        url = service.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:"), f"the demo did not start: {url}"
        base = url.rsplit("/", 1)[0]

        def post(path):
            urllib.request.urlopen(urllib.request.Request(base + path, method="POST", data=b""))

        def row(name):
            return ("[...document.querySelectorAll('#circuit-rows tr')]"
                    f".find(row => row.querySelector('th span').textContent === '{name}')")

        def state(name):
            return browser.run(f"{row(name)}?.dataset.state")

        def report():
            try:
                return json.load(urllib.request.urlopen(base + "/health"))
            except urllib.error.HTTPError as error:
                # 503 while something is down.
                return json.load(error)

        browser = Browser(program)
        for domain in ("Page", "Runtime", "Log"):
            browser.call(f"{domain}.enable")
        browser.call("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
        browser.call("Page.navigate", url=url)
        wait_for("the first state", lambda: state("payments") == "closed", 20)
        hostile = "/v1/<script>alert(1)</script>"
        assert browser.run("document.querySelectorAll('script').length") == 1
        assert browser.run(f"[...document.querySelectorAll('th')].some(e => e.textContent.includes('{hostile}'))")
        print("the page shows all circuits, and a hostile name as text")

        # When the circuit has opened in the service, the page must show it within a second.
        def seen(upstream, wanted, limit, is_so):
            wait_for(f"{upstream} to be {wanted} in the service", is_so, limit)
            took = wait_for(f"{upstream} to be {wanted} on the page", lambda: state(upstream) == wanted, 10)
            assert took < 1, f"{upstream} was shown {wanted} only {took:.2f} s later"
            colour = browser.run(f"getComputedStyle({row(upstream)}.querySelector('.badge')).color")
            # Of DashboardPage+Style, in light: red, green, and violet for what was set by hand.
            colours = {"open": "rgb(179, 32, 31)", "closed": "rgb(23, 114, 69)", "isolated": "rgb(91, 63, 168)"}
            assert colour == colours[wanted], f"{upstream} is {wanted}, and shown in {colour}"
            print(f"{upstream}: {wanted} on the page after {took * 1000:.0f} ms, in {colour}")

        def in_service(name, wanted):
            def check():
                parts = [one for one in report()["components"] if one["name"] == name]
                return any(part.get("circuit", {}).get("state") == wanted for one in parts for part in one["policies"])
            return check

        post("/demo/payments/down")
        seen("payments", "open", 20, in_service("payments", "open"))
        assert browser.run("document.getElementById('status').textContent") == "Down"
        assert "payments" in browser.run("document.getElementById('announcer').textContent")
        post("/demo/payments/up")
        seen("payments", "closed", 30, in_service("payments", "closed"))

        # By hand, with the keyboard alone.
        browser.run(f"{row('/v1/uploads')}.querySelectorAll('button')[1].focus()")
        browser.press("Enter", 13)
        wait_for("the question", lambda: browser.run("document.getElementById('confirm').open"), 5)
        assert "/v1/uploads" in browser.run("document.getElementById('confirm-text').textContent")
        browser.press("Escape", 27)
        wait_for("Escape to close it", lambda: not browser.run("document.getElementById('confirm').open"), 5)
        assert state("/v1/uploads") == "closed"
        browser.run(f"{row('/v1/uploads')}.querySelectorAll('button')[1].focus()")
        browser.press("Enter", 13)
        browser.press("Tab", 9)
        browser.press("Enter", 13)
        seen("/v1/uploads", "isolated", 5, in_service("/v1/uploads", "open"))

        # A picture of a bad day: something in every state.
        post("/demo/activities/down")
        post("/demo/enqueue")
        wait_for("activities to open", lambda: state("/v1/activities") == "open", 20)
        post("/demo/search/down")
        wait_for("search to open", lambda: state("search") == "open", 30)
        post("/demo/search/up")
        wait_for("search to probe or close", lambda: state("search") != "open", 30)
        post("/demo/search/down")
        post("/demo/outbox/busy")
        post("/demo/enqueue")
        wait_for("the queue to pause",
                 lambda: "paused" in browser.run("document.getElementById('queue-cards').textContent"), 20)
        wait_for("search to open again", lambda: state("search") == "open", 30)
        for scheme in ("light", "dark"):
            browser.picture(os.path.join(folder, f"wide-{scheme}.png"), 1280, 900, scheme)
            browser.picture(os.path.join(folder, f"narrow-{scheme}.png"), 400, 800, scheme)
        if "--update" in options:
            browser.picture("Docs/Pictures/dashboard.png", 1280, 860, "light", whole=False)
            browser.picture("Docs/Pictures/dashboard~dark.png", 1280, 860, "dark", whole=False)

        # When the service is gone, the page says so.
        service.kill()
        wait_for("the page to notice that the service is gone",
                 lambda: "No connection" in browser.run("document.getElementById('live-text').textContent"), 15)
        problems = [one for one in browser.problems if "ERR_" not in json.dumps(one)]
        assert not problems, problems
        print(f"all is well; pictures are in {folder}")
    finally:
        if browser:
            browser.close()
        service.kill()
        service.wait()


main()
