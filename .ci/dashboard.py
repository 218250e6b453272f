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
import threading
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

    def view(self, width, height, scheme):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, name, width, height, scheme):
        """The whole page. Nothing may be wider than it, or cut off."""
        self.view(width, height, scheme)
        time.sleep(0.6)
        assert not self.run("document.documentElement.scrollWidth > innerWidth"), f"the page is wider than {width} px"
        cut = self.run(
            "[...document.querySelectorAll('body *')].filter(one => one.scrollWidth > one.clientWidth + 1"
            " && !one.closest('.hidden, .skip, .track')"
            " && getComputedStyle(one).display !== 'inline').map(one => one.className + ': ' + one.textContent)")
        assert not cut, f"cut off at {width} px: {cut}"
        self.capture(name, captureBeyondViewport=True)

    def capture(self, name, **parameters):
        data = self.call("Page.captureScreenshot", format="png", **parameters)["data"]
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


def opened(program, url):
    """Returns a browser with the page."""
    browser = Browser(program)
    for domain in ("Page", "Runtime", "Log"):
        browser.call(f"{domain}.enable")
    browser.view(1280, 900, "light")
    browser.call("Page.navigate", url=url)
    return browser


def row(name):
    """The row of a policy or a queue."""
    return ("[...document.querySelectorAll('.row')]"
            f".find(row => row.querySelector('.name span').textContent === '{name}')")


def check(program, demo, folder):
    service = subprocess.Popen([demo], env={**os.environ, "PORT": "0"}, stdout=subprocess.PIPE, text=True)
    browser = None
    try:
        url = service.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:"), f"the demo did not start: {url}"
        base = url.rsplit("/", 1)[0]

        def post(path):
            urllib.request.urlopen(urllib.request.Request(base + path, method="POST", data=b""))

        def state(name):
            return browser.run(f"{row(name)}?.dataset.state")

        def report():
            try:
                return json.load(urllib.request.urlopen(base + "/health"))
            except urllib.error.HTTPError as error:
                # 503 while something is down.
                return json.load(error)

        browser = opened(program, url)
        wait_for("the first state", lambda: state("payments breaker") == "closed", 20)
        hostile = "/v1/<script>alert(1)</script>"
        assert browser.run("document.querySelectorAll('script').length") == 1
        assert browser.run(f"[...document.querySelectorAll('.name')].some(e => e.textContent.includes('{hostile}'))")
        print("the page shows all circuits, and a hostile name as text")

        parts = browser.run("[...document.querySelectorAll('#parts > section')].map(e => e.getAttribute('aria-label'))")
        assert parts == ["payments", "search", "endpoints", "Others"], parts
        wait_for("rates of payments", lambda: browser.run(
            "Number(document.querySelector('[aria-label=payments] .rates .calls dd')?.textContent) > 1"), 20)
        print("pipelines have sections and rates")

        # When the circuit has opened in the service, the page must show it within a second.
        def seen(name, wanted, limit, is_so):
            wait_for(f"{name} to be {wanted} in the service", is_so, limit)
            took = wait_for(f"{name} to be {wanted} on the page", lambda: state(name) == wanted, 10)
            assert took < 1, f"{name} was shown {wanted} only {took:.2f} s later"
            colour = browser.run(f"getComputedStyle({row(name)}.querySelector('.badge')).color")
            # Red and green in page.css, in light mode.
            colours = {"open": "rgb(179, 32, 31)", "closed": "rgb(23, 114, 69)", "isolated": "rgb(179, 32, 31)"}
            assert colour == colours[wanted], f"{name} is {wanted}, and shown in {colour}"
            print(f"{name}: {wanted} on the page after {took * 1000:.0f} ms, in {colour}")

        def in_service(name, wanted):
            def check():
                parts = [one for one in report()["components"] if one["name"] == name]
                return any(part["state"] == wanted for one in parts for part in one["policies"])
            return check

        post("/demo/payments/down")
        seen("payments breaker", "open", 20, in_service("payments", "open"))
        assert browser.run("document.getElementById('status').textContent") == "down"
        assert "payments" in browser.run("document.getElementById('announcer').textContent")
        post("/demo/payments/up")
        seen("payments breaker", "closed", 30, in_service("payments", "closed"))

        # By hand, with the keyboard alone.
        def focus(name, button):
            browser.run(f"{row(name)}.querySelectorAll('button')[{button}].focus()")
            browser.press("Enter", 13)
            wait_for("the question", lambda: browser.run("document.getElementById('confirm').open"), 5)
            assert name in browser.run("document.getElementById('confirm-text').textContent")

        focus("/v1/uploads", 1)
        browser.press("Escape", 27)
        wait_for("Escape to close it", lambda: not browser.run("document.getElementById('confirm').open"), 5)
        assert state("/v1/uploads") == "closed"
        focus("/v1/uploads", 1)
        browser.press("Tab", 9)
        browser.press("Enter", 13)
        seen("/v1/uploads", "isolated", 5, in_service("/v1/uploads", "isolated"))

        # A 429 that asks for 300 s: the hold can be ended as soon as the upstream is well.
        post("/demo/search/busy")
        wait_for("the hold", lambda: state("search rate") == "held", 20)
        post("/demo/search/up")
        focus("search rate", 0)
        browser.press("Tab", 9)
        browser.press("Enter", 13)
        took = wait_for("the end of the hold", lambda: state("search rate") == "flowing", 5)
        print(f"search rate: no hold any more {took * 1000:.0f} ms after its end by hand")

        # A picture of something in every state.
        post("/demo/activities/down")
        wait_for("activities to open", lambda: state("/v1/activities") == "open", 20)
        post("/demo/payments/busy")
        wait_for("the hold", lambda: state("payments rate") == "held", 20)
        post("/demo/search/down")
        wait_for("search to open", lambda: state("search breaker") == "open", 30)
        post("/demo/outbox/busy")
        post("/demo/enqueue")
        wait_for("the queue to pause", lambda: state("outbox") == "paused", 20)
        for scheme in ("light", "dark"):
            browser.picture(os.path.join(folder, f"wide-{scheme}.png"), 1280, 900, scheme)
            browser.picture(os.path.join(folder, f"narrow-{scheme}.png"), 390, 844, scheme)

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


def bad_day(program, gateway):
    """Pictures of the gateway and its upstreams, whose own troubles are in Upstreams.swift."""
    environment = {"PORT": os.environ.get("PORT", "18080"), "UPSTREAM_PORT": os.environ.get("UPSTREAM_PORT", "18081")}
    service = subprocess.Popen([gateway], env={**os.environ, **environment})
    url = f"http://127.0.0.1:{environment['PORT']}/resilience"
    start = time.monotonic()
    is_over = threading.Event()

    def calls(name, pause, times):
        """Calls a service again and again during some minutes."""
        while not is_over.wait(pause):
            minute = (time.monotonic() - start) / 60
            if any(begin <= minute < end for begin, end in times):
                try:
                    urllib.request.urlopen(url.rsplit("/", 1)[0] + f"/api/{name}", timeout=10).read()
                except OSError:
                    pass

    browser = None
    try:
        # One after another, beside the four per second that the gateway sends itself. Prices allows five per second.
        for caller in [("prices", 0.25, [(2, 4), (7.5, 60)]), ("reviews", 0.1, [(4.5, 8)]), ("reviews", 0.2, [(5, 7)])]:
            threading.Thread(target=calls, args=caller, daemon=True).start()
        time.sleep(10 * 60)
        browser = opened(program, url)
        wait_for("the page", lambda: browser.run("document.querySelector('.row') !== null"), 20)

        def is_bad():
            return browser.run(
                "['open', 'held'].every(state => document.querySelector(`.row[data-state=${state}]`) !== null)")

        for scheme, name in (("light", "dashboard"), ("dark", "dashboard~dark")):
            browser.view(1280, 900, scheme)
            bottom = browser.run("document.querySelector('.legend').getBoundingClientRect().bottom")
            browser.view(1280, int(bottom) + 20, scheme)
            time.sleep(1)
            wait_for("a circuit that is open and a throttle that holds calls", is_bad, 60)
            browser.capture(f"Docs/Pictures/{name}.png")
    finally:
        is_over.set()
        if browser:
            browser.close()
        service.kill()
        service.wait()


def main():
    program, binaries, *options = sys.argv[1:]
    if "--update" in options:
        bad_day(program, os.path.join(binaries, "resilient-gateway"))
    else:
        folder = os.path.join(".build", "dashboard")
        os.makedirs(folder, exist_ok=True)
        check(program, os.path.join(binaries, "dashboard-demo"), folder)


main()
