"""A headless Chromium, spoken to through two pipes (the DevTools protocol): no package beside Python's own is needed.

The page's Content-Security-Policy holds for the page, not for what a test evaluates."""

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import time

TIMEOUT_SECONDS = 60


def find():
    """The path of a Chromium, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Chromium:
    """One browser with one page. Use it in a `with`."""

    def __init__(self, path, profile):
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]
        # The protocol is spoken on descriptors 3 and 4; the copies are above both, so that neither is overwritten.
        inside = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (commands, answers)]
        self._process = subprocess.Popen([path, *flags], close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                         preexec_fn=lambda: [os.dup2(end, place) for end, place in zip(inside, (3, 4))])
        for end in inside:
            os.close(end)
        os.close(commands)
        os.close(answers)
        self._buffer = b""
        self._next = 0
        self._session = None
        self._events = []
        self._attach()

    def _attach(self, **where):
        """To a new page, whose commands follow."""
        target = self._call("Target.createTarget", url="about:blank", **where)["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._call("Page.enable")
        self._call("Log.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._commands)
        os.close(self._answers)

    def open(self, url, width, height, phone):
        """Loads the page in a window of that size, and waits until it is there."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self._events = []
        answer = self._call("Page.navigate", url=url)
        if "errorText" in answer:
            raise RuntimeError(f"{url}: {answer['errorText']}")
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._take()

    @contextlib.contextmanager
    def private(self):
        """The page is that of a private window meanwhile, whose storage ends with it."""
        before, self._session = self._session, None
        context = self._call("Target.createBrowserContext")["browserContextId"]
        try:
            self._attach(browserContextId=context)
            yield
        finally:
            self._session = None
            self._call("Target.disposeBrowserContext", browserContextId=context)
            self._session = before

    def prefer(self, scheme):
        """Pages that are opened from now on are shown to somebody who prefers this scheme: light or dark."""
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def evaluate(self, expression):
        """The value of a JavaScript expression in the page."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def click(self, x, y):
        """As a person does: the page's events are trusted."""
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def storage(self, method, **params):
        """A command of the protocol's domain Storage."""
        return self._call(f"Storage.{method}", **params)

    def errors(self):
        """The browser's complaints since the page was opened, such as blocked content."""
        return [event["params"]["entry"]["text"] for event in self._events
                if event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error"]

    def screenshot(self, path):
        """The whole page, not only what the window shows."""
        data = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def _call(self, method, **params):
        self._next += 1
        message = {"id": self._next, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._commands, data):]
        while True:
            answer = self._take()
            if answer.get("id") != self._next:
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            return answer["result"]

    def _take(self):
        """The next message; events are kept."""
        end = time.monotonic() + TIMEOUT_SECONDS
        while b"\0" not in self._buffer:
            if not select.select([self._answers], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("Chromium does not answer")
            data = os.read(self._answers, 1 << 20)
            if not data:
                raise RuntimeError("Chromium has ended")
            self._buffer += data
        text, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(text)
        if "method" in message:
            self._events.append(message)
        return message
