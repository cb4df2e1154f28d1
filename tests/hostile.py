"Payloads of strangers, a reader that looks for anything that could act, and a browser that would."

import json
import re
import shutil
import subprocess
import tempfile
from html.parser import HTMLParser
from pathlib import Path

ACT = "document.documentElement.dataset.acted=1"  # what every script of a payload does
IMG = f"<img src=x onerror={ACT}>"
SCRIPT = f"<script>{ACT}</script>"
SENTINEL = "contents-of-a-private-file"  # what every file holds that a payload tries to include


_PAYLOADS = json.loads((Path(__file__).parent / "data" / "payloads.json").read_text())
NAMES = _PAYLOADS["names"]


def markdown_payloads(secret):
    "Prose of a report that tries to act, or to read a file."
    return [each.replace("SECRET-FILE", str(secret)) for each in _PAYLOADS["markdown"]]


def html_payloads():
    "Outputs of kind HTML that try to act."
    return _PAYLOADS["html"]


def local_form(given):
    "Whether a form leads to the search of the site."
    return given.get("action", "") in ("", "#", "search.html") or given["action"].endswith(
        "/search.html"
    )


class Looker(HTMLParser):
    "Notes whatever could act on a page."

    SILENT = {"script", "iframe", "object", "embed", "base", "portal", "frame", "frameset"}
    ADDRESSES = {
        "href",
        "src",
        "action",
        "formaction",
        "xlink:href",
        "data",
        "poster",
        "background",
    }

    def __init__(self, own_scripts):
        super().__init__()
        self.own, self.found, self.script = set(own_scripts), [], None

    def handle_starttag(self, tag, attributes):
        given = {name: value or "" for name, value in attributes}
        local = not re.match(r"(?i)\s*[a-z][a-z0-9+.-]*:|//", given.get("src", ""))
        if tag == "script":
            self.script = "" if "src" not in given else None
            if "src" in given and not local:
                self.found.append(f"script from {given['src']}")
        elif tag in self.SILENT or (tag == "form" and not local_form(given)):
            self.found.append(f"<{tag}>")
        if tag == "meta" and given.get("http-equiv", "Content-Security-Policy") != (
            "Content-Security-Policy"
        ):
            self.found.append(f"meta {given}")
        for name, value in given.items():
            scheme = re.match(r"\s*([a-z][a-z0-9+.\s-]*):", value, re.I)
            if name.startswith("on"):
                self.found.append(f"{tag} {name}")
            if name in self.ADDRESSES and scheme and scheme[1].lower() not in ("http", "https"):
                if not value.startswith("data:image/") or tag != "img":
                    self.found.append(f"{tag} {name}={value[:40]}")
            if name == "style" and re.search(r"url|position|@|expression", value):
                self.found.append(f"{tag} style={value[:40]}")

    def handle_data(self, data):
        if self.script is not None:
            self.script += data

    def handle_endtag(self, tag):
        if tag == "script" and self.script is not None:
            script, self.script = re.sub(r"(?<=pagename = )'[^']*'", "", self.script), None
            if script.strip() not in self.own:
                self.found.append(f"script {script[:60]}")


def what_could_act(page, own_scripts=()):
    "Scripts, handlers, addresses and frames of a page that are not the site's own."
    looker = Looker(own_scripts)
    looker.feed(page)
    looker.close()
    return looker.found


def browser():
    "A browser, where there is one."
    return next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )


def seen_by_a_browser(address):
    "The page after its scripts have run, and what the browser said of them."
    with tempfile.TemporaryDirectory() as profile:
        flags = "headless no-sandbox disable-gpu disable-background-networking disable-sync"
        flags += " disable-component-update enable-logging=stderr virtual-time-budget=3000 dump-dom"
        command = [browser(), *(f"--{each}" for each in flags.split())]
        command += [f"--user-data-dir={profile}", address]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.stdout, done.stderr
