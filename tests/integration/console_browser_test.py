#!/usr/bin/env python3
"""The console in a real browser: somebody signs in, makes a model, puts arms, tries a decision, and sees the reward rise.

Every name is markup that would run if it were taken for such. Then pictures of 1, 3 and 20 models at 390, 1,280 and 1,920 pixels, light
and dark, in which nothing may be cut; and axe-core's findings, where `npm ci` of tests/npm has put it into NPM_FOLDER.

Usage: console_browser_test.py SERVER NPM_FOLDER SCREENSHOT.png. Writes pictures beside SCREENSHOT.png. Exits with 77 (skipped) where
there is no Chromium.
"""

import hashlib
import json
import os
import sys
import tempfile
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import chromium  # noqa: E402
import processes  # noqa: E402

SIZES = {"phone": (390, 844, True), "wide": (1280, 900, False), "wall": (1920, 1080, False)}
TOKEN = "console-token-5f3c9f0de1b24c7a"
EVIL = "<img src=x onerror='window.pwned=1'><script>window.pwned=1</script>"
ACCESS = ('access {{ principals {{ name: "boss" token_sha256: "{}" roles: ROLE_SELECT roles: ROLE_REPORT roles: ROLE_ADMIN }} }}\n')
LOG = "policy { uniform_mix { uniform_share: 0.2 } } reporting { one_per_decision: true } decision_log {}"
LOCAL = "reporting { one_per_decision: true } reward_stddev: 0.1"
KINDS = {
    "open": f"shared {{}} mode: NON_PRIVATE {LOG}",
    "private": f"independent {{}} mode: LOCAL_REWARD privacy {{ epsilon: 2 events_per_user_max: 1000 }} {LOCAL}",
    "joint": f"shared {{}} mode: JOINT privacy {{ epsilon: 1 delta: 1e-5 }} {LOCAL}",
    "context": f"shared {{}} mode: LOCAL_CONTEXT privacy {{ epsilon: 2 }} {LOCAL}",
    "effects": f"effects {{ standard {{}} }} mode: NON_PRIVATE {LOG}",
}
FIRST = 500  # decisions that choose the form of the intervals
LONG_NAME = "a-model-whose-name-is-as-long-as-a-name-may-be-which-is-63-char"

MEASURE = """(limit => ({
  width: document.documentElement.scrollWidth,
  outside: [...document.querySelectorAll('body *')].filter(e => {
    const box = e.getBoundingClientRect();
    return !e.closest('svg') && !e.matches('.skip') && box.width > 0 && (box.right > limit + 0.5 || box.left < -0.5);
  }).map(e => e.outerHTML.slice(0, 80)),
  cut: [...document.querySelectorAll('svg text')].filter(e => {
    const box = e.getBBox(), view = e.ownerSVGElement.viewBox.baseVal;
    return box.x < -0.5 || box.x + box.width > view.width + 0.5;
  }).map(e => e.textContent),
  unlabelled: [...document.querySelectorAll('input, select, textarea')].filter(e => e.labels.length === 0).length,
}))"""


class Server:
    """A server, and calls of it as an application makes them."""

    def __init__(self, path, folder, children, models, access=True):
        os.mkdir(folder)
        self.access = access
        with open(f"{folder}/server.textproto", "w", encoding="utf-8") as file:
            file.write('listen: "127.0.0.1:0" http_listen: "127.0.0.1:0" api_listen: "127.0.0.1:0"\n')
            file.write(ACCESS.format(hashlib.sha256(TOKEN.encode()).hexdigest()) if access else "")
            for name, config in models.items():
                file.write(f'models {{ name: "{name}" dimension: 2 {config} }}\n')
        process = children.start(f"{folder}/log", [path, "--config", f"{folder}/server.textproto", "--data_dir", f"{folder}/data"])
        self.api = processes.await_ready(process, f"{folder}/log")["api"]

    def call(self, path, body):
        headers = {"content-type": "application/json", **({"authorization": f"Bearer {TOKEN}"} if self.access else {})}
        request = urllib.request.Request(f"http://{self.api}{path}", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())

    def learn(self, model, batches, reward, arms=None):
        """64 decisions per batch, each reported: `reward` of the arm's place among `arms`."""
        arms = arms or {"inlineArms": {"features": [1, 0, 0, 1]}}
        for _ in range(batches):
            decisions = [{"user": f"{EVIL[:40]}{i}", "arms": arms} for i in range(64)]
            made = [result["selection"] for result in self.call(f"/v1/models/{model}:batchSelect", {"decisions": decisions})["results"]]
            outcomes = [{"token": one["token"], "reward": reward(one["positions"][0])} for one in made]
            self.call(f"/v1/models/{model}:report", {"outcomes": outcomes})


class Person:
    """Somebody in front of the browser."""

    def __init__(self, browser, server):
        self.browser = browser
        self.server = server

    def goes(self, where):
        self.browser.evaluate(f"location.hash = {json.dumps(where)}")

    def opens(self, where, size="wide"):
        self.browser.open("about:blank", *SIZES[size])
        self.browser.open(f"http://{self.server.api}/console/#{where}", *SIZES[size])

    def sees(self, what, expression):
        return processes.wait_for(what, lambda: self.browser.evaluate(expression))

    def reads(self, words, where="main"):
        text = f"document.querySelector({json.dumps(where)})?.innerText"
        try:
            self.sees(words, f"({text} ?? '').includes({json.dumps(words)})")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.browser.evaluate(text)}\n{self.browser.errors()}") from error

    def types(self, selector, text):
        self.sees(selector, f"document.querySelector({json.dumps(selector)}) !== null")
        self.browser.evaluate(f"""(e => {{ e.value = {json.dumps(text)}; e.dispatchEvent(new Event('input'));
          e.dispatchEvent(new Event('change')); }})(document.querySelector({json.dumps(selector)}))""")

    def presses(self, label):
        self.sees(label, f"""(b => {{ b?.focus(); b?.click(); return b !== undefined; }})(
          [...document.querySelectorAll('main button, nav button')].find(b => b.textContent === {json.dumps(label)}))""")

    def facts(self):
        return self.browser.evaluate("""Object.fromEntries([...document.querySelectorAll('dl div')].map(
          e => [e.firstChild.textContent, e.lastChild.textContent]))""")


def mean_of(person, arm):
    """The mean that the last ranking gives to an arm."""
    return person.browser.evaluate(f"""Number([...document.querySelectorAll('main table.rows tbody tr')]
      .find(row => row.firstChild.textContent === {json.dumps(arm)})?.children[3].textContent)""")


def signs_in(person):
    person.opens("/")
    person.reads("This server asks who you are")
    person.types("#token", "wrong")
    person.presses("Sign in")
    person.sees("a refusal", "document.querySelector('[role=alert]')?.textContent.length > 5")
    person.types("#token", TOKEN)
    person.presses("Sign in")
    person.reads("All 5 models are all right.")
    kept = person.browser.evaluate("[document.cookie, localStorage.length, location.href.includes('token')]")
    return [] if kept == ["", 0, False] else [f"the token is kept in {kept}"]


def makes_a_model(person):
    person.goes("#/new")
    person.types("#recipe", "clicks")
    person.browser.evaluate("document.querySelector('#quick').click()")
    person.reads("Clicks on articles")
    config = json.loads(person.browser.evaluate("document.querySelector('#config').value"))
    wrong = [] if config["reporting"]["rewardWindow"]["duration"] == "5s" else [f"--try is {config['reporting']}"]
    # Rewards are learnt at once, and judged.
    config.update(reporting={"onePerDecision": True}, policy={"uniformMix": {"uniformShare": 0.2}}, decisionLog={})
    person.types("#config", json.dumps(config))
    person.browser.evaluate("document.querySelector('#name').removeAttribute('pattern')")
    person.types("#name", EVIL)
    person.presses("Create")
    person.reads("name", "[role=alert]")
    person.types("#name", "shop")
    person.presses("Create")
    person.reads("serving")
    return wrong


def puts_arms(person):
    person.goes("#/models/shop/arms")
    person.reads("The catalogue is empty.")
    arms = [{"id": i, "name": f"{EVIL}{i}", "tags": [f"{EVIL[:40]}{i}"], "fields": {"price": i},
             "namedFeatures": {"category": EVIL, "age_hours": 5, "tags": [EVIL]}} for i in (1, 2, 3)]
    person.types("#rows", '{"id": "x"}')
    person.presses("Put")
    person.reads("line 1: id")
    person.types("#rows", "\n".join(json.dumps(arm) for arm in arms))
    person.presses("Put")
    person.reads("Added 3, replaced 0: 3 arms.")
    person.reads(f"{EVIL}3", "table")
    person.types("#rows", "id,name,feature:age_hours\n9,short,3\n")
    person.presses("Put")
    person.reads("Added 1, replaced 0: 4 arms.")
    person.reads("short", "table")
    person.browser.evaluate("(b => { b.focus(); b.click(); })(document.querySelector('[aria-label=\"Remove short\"]'))")
    person.presses("Really remove?")
    person.reads("Removed 1: 3 arms are left.")


def tries_a_decision(person):
    """Tries until what the test reports has been learnt: the mean of the arm that is rewarded rises, and nothing else was learnt."""
    person.goes("#/models/shop/try")
    person.types("#user", f"{EVIL[:60]}")
    person.types("#context-0", "ios")
    person.presses("Decide")
    person.reads("Why: ")
    before = mean_of(person, f"{EVIL}2")
    before_stats = person.server.call("/v1/models/shop:stats", {})
    person.goes("#/models/shop")
    person.reads("serving")
    wrong = [] if person.facts()["Learnt from, decisions"] == "0" and int(before_stats.get("reportsApplied", 0)) == 0 else [
        f"something was learnt from a try: {person.facts()}"]
    query = {"catalogueQuery": {}}
    person.server.learn("shop", 12, lambda position: 1 if position == 1 else 0, query)
    # The page goes on by itself.
    person.sees("the reports", "document.body.innerText.includes('768')")
    person.reads("Above any arm at random")
    person.server.learn("shop", 12, lambda position: 1 if position == 1 else 0, query)
    person.sees("more reports", "document.body.innerText.replace('\\u202f', '').includes('1536')")
    person.reads("Mean reward since the server's start")  # two looks at it, while the page was open
    person.sees("a chart", "document.querySelectorAll('svg .line').length >= 4")
    person.browser.evaluate("""(e => { e.focus(); e.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft'})); })(
      document.querySelector('figure svg'))""")
    person.sees("a time", "/\\d:\\d\\d:\\d\\d.*: /.test(document.querySelector('figcaption .said').textContent)")
    person.goes("#/models/shop/try")
    person.presses("Decide")
    person.reads("Why: ")
    after = mean_of(person, f"{EVIL}2")
    print("mean of the rewarded arm", before, after)
    return wrong + ([] if after > before + 0.2 else [f"the mean goes from {before} to {after}"])


def has_an_apprentice(person):
    """Also: the state is told in words, whatever keeps a model from learning."""
    for i in range(5):
        person.server.call("/v1/models/open:select", {"user": f"u{i}", "baseline": 0, "arms": {"inlineArms": {"features": [1, 0, 0, 1]}}})
    person.goes("#/models/open")
    person.reads("of 5 decisions since the start")
    person.reads("To go live take `apprentice: true`")
    person.goes("#/")
    person.reads("Apprentice agrees")
    refusals = [{"reason": "budget", "text": "a user's events are used up", "remedy": "make a new model"}]
    person.browser.evaluate(f"""import('/console/words.js').then(words => {{
      window.states = [words.stateOf({{refusals: {json.dumps(refusals)}}}), words.stateOf({{refusals: [{{reason: 'disk', text: 'full'}}]}}),
        words.stateOf({{}}), words.stateOf(undefined, 'draining')]; }}); 0""")
    person.sees("the states", "window.states !== undefined")
    states = person.browser.evaluate("window.states.map(s => [s.level, s.word, ...s.whys])")
    expected = [["warn", "budget spent", "A user's events are used up. Make a new model."], ["bad", "not learning", "Full."],
                ["good", "serving"], ["bad", "no answer", "Draining."]]
    return [] if states == expected else [f"states: {states}"]


def is_not_offered(person):
    wrong = []
    for model, words in (("joint", "nobody else is to see one"), ("context", "its devices choose by themselves")):
        person.goes(f"#/models/{model}/try")
        person.reads(words)
        if person.browser.evaluate("document.querySelectorAll('main form').length"):
            wrong.append(f"{model} has a form")
    person.goes("#/models/private")
    person.reads("The server never sees a reward")
    return wrong + ([] if person.facts().get("ε per event") == "2" else [f"private: {person.facts()}"])


def nothing_ran(person):
    found = person.browser.evaluate("""[window.pwned, document.querySelectorAll('main img, main script, main b[onclick]').length,
      document.querySelectorAll('script').length]""")
    wrong = [] if found == [None, 0, 1] else [f"markup in a name: {found}"]
    # The measure notices what is put in as markup.
    person.browser.evaluate(f"document.querySelector('main').insertAdjacentHTML('beforeend', {json.dumps(EVIL)})")
    seen = person.browser.evaluate("document.querySelectorAll('main img, main script').length")
    return wrong + ([] if seen == 2 else [f"markup goes unnoticed: {seen}"])


def looks_right(person, where, size, ready, picture):
    person.opens(where, size)
    person.sees(f"{where}: {ready}", f"document.body.innerText.includes({json.dumps(ready)})")
    width = SIZES[size][0]
    seen = person.browser.evaluate(f"{MEASURE}({width})")
    person.browser.screenshot(picture)
    wrong = [f"{where} at {width}: {name}: {seen[name]}" for name in ("outside", "cut", "unlabelled") if seen[name]]
    wrong += [f"{where} at {width}: {seen['width']} pixels"] if seen["width"] > width else []
    return wrong + [f"{where} at {width}: {error}" for error in person.browser.errors()]


def accessible(person, axe, where):
    """Serious findings of axe-core, if it is there."""
    if not os.path.exists(axe):
        print("no axe-core: npm ci of tests/npm brings it")
        return []
    person.browser.evaluate(processes.read(axe) + ";0")
    person.browser.evaluate("axe.run().then(r => { window.axeResult = r; }); 0")
    person.sees("axe", "window.axeResult !== undefined")
    return person.browser.evaluate(f"""window.axeResult.violations.filter(v => ['serious', 'critical'].includes(v.impact)).map(
      v => {json.dumps(where)} + ': ' + v.id + ': ' + v.nodes.map(n => n.html.slice(0, 100)).join(' '))""")


def pages_of(count):
    if count == 20:
        return {"/": "All 20 models are all right."}
    if count == 1:
        return {"/": "The model is all right.", "/models/open": "Above any arm at random"}
    return {"/": "All 3 models are all right.", "/models/private": "Spent by one user", "/models/effects": "Above any arm at random",
            "/models/effects/try": "Decide", "/models/effects/arms": "Boots", "/new": "Configuration"}


def pictures(browser, path, npm, folder, children, stem):
    wrong = []
    names = ["open", "private", "effects"]
    for count in (1, 3, 20):
        models = {name: KINDS[name] for name in names[:count]}
        models.update({LONG_NAME if i == 3 else f"model-{i:02}": KINDS[names[i % 3]] for i in range(3, count)})
        server = Server(path, f"{folder}/{count}", children, models, access=False)
        person = Person(browser, server)
        for model in [name for name in models if name in ("open", "effects")]:
            server.learn(model, (FIRST + 300) // 64, lambda position: position)
        if count == 3:
            rows = "id,name,tags,features\n1,Boots,\"red,new\",0.1 0.9\n2,Hats,blue,0.5 0.5\n"
            request = urllib.request.Request(f"http://{server.api}/v1/models/effects:putArms", rows.encode(), {"content-type": "text/csv"})
            urllib.request.urlopen(request, timeout=60).read()
            server.learn("effects", 6, lambda position: position, {"catalogueQuery": {}})
        for scheme in ("light", "dark"):
            browser.prefer(scheme)
            for where, ready in pages_of(count).items():
                for size in SIZES:
                    name = where.strip("/").replace("/", "-") or "all"
                    wrong += looks_right(person, where, size, ready, f"{stem}_{count}_{name}_{size}_{scheme}.png")
                wrong += accessible(person, f"{npm}/node_modules/axe-core/axe.min.js", f"{where} {scheme}")
    return wrong


def main():
    server_path, npm, screenshot = sys.argv[1:]
    path = chromium.find()
    if path is None:
        processes.skip("no Chromium; ./dev setup --full installs it")
    with tempfile.TemporaryDirectory() as folder, processes.Children() as children, \
            chromium.Chromium(path, f"{folder}/browser") as browser:
        person = Person(browser, Server(server_path, f"{folder}/story", children, KINDS))
        problems = signs_in(person)
        problems += makes_a_model(person)
        puts_arms(person)
        problems += tries_a_decision(person) + has_an_apprentice(person) + is_not_offered(person) + nothing_ran(person)
        problems += pictures(browser, server_path, npm, folder, children, os.path.splitext(screenshot)[0])
    for problem in problems:
        print("wrong or missing:", problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
