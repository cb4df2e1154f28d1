"Payloads of strangers, a reader that looks for anything that could act, and a browser that would."

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path

ACT = "document.documentElement.dataset.acted=1"  # what every script of a payload does
IMG = f"<img src=x onerror={ACT}>"
SCRIPT = f"<script>{ACT}</script>"
SENTINEL = "contents-of-a-private-file"  # what every file holds that a payload tries to include


def markdown_payloads(secret: Path) -> list[str]:
    "Prose of a report that tries to act, or to read a file."
    raw, html = f"{{raw}} html\n{SCRIPT}{IMG}", f"{SCRIPT}{IMG}"
    return [
        # raw HTML, at the top and nested
        html,
        f"<div>\n{html}\n</div>",
        f"- {html}",
        f"1. {html}",
        f"> {html}",
        f"> > - {html}",
        f"- one\n  - two\n\n    {html}",
        f"Term\n: {html}",
        f"Note[^1]\n\n[^1]: {html}",
        f"| a |\n| - |\n| {IMG} |",
        f"# Heading {IMG}",
        f"Heading {IMG}\n===",
        f"**{IMG}**",
        f"[{IMG}](https://example.org)",
        f"<!-- --><!--><script>{ACT}</script>-->",
        f"<svg><script>{ACT}</script></svg>",
        f"<svg/onload={ACT}>",
        f"<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=x "
        f"onerror={ACT}&gt;'>",
        f"<noscript><p title='</noscript>{IMG}'>",
        f"<form><math><mtext></form><form><mglyph><style></math><img src onerror={ACT}>",
        f"<details open ontoggle={ACT}>x</details>",
        f"<body onload={ACT}>",
        f"<iframe srcdoc='{html}'></iframe>",
        f"<object data='data:text/html,{html}'></object>",
        f"<embed src='data:text/html,{html}'>",
        f"<base href='https://example.org/'>{IMG}",
        f"<meta http-equiv=refresh content='0;url=javascript:{ACT}'>",
        f"<link rel=stylesheet href='data:text/css,*{{}}' onload={ACT}>",
        f"<style>@import 'https://example.org/x.css';</style><style onload={ACT}></style>",
        f"<video><source onerror={ACT}></video>",
        f"<input autofocus onfocus={ACT}>",
        f"<template><p>{html}</p></template>",
        f"&lt;script&gt;{ACT}&lt;/script&gt;&#60;img src=x onerror={ACT}&#62;",
        # raw HTML by directive
        f"```{raw}\n```",
        f"- ```{raw.replace(chr(10), chr(10) + '  ')}\n  ```",
        f"> ```{raw.replace(chr(10), chr(10) + '> ')}\n> ```",
        f"1. :::{raw.replace(chr(10), chr(10) + '   ')}\n   :::",
        f"Term\n: ```{raw.replace(chr(10), chr(10) + '  ')}\n  ```",
        f"::::{{note}}\n:::{raw}\n:::\n::::",
        f":::::{raw}\n:::::",
        f"~~~{raw}\n~~~",
        f"~~~~~~~~{{raw}} html\n~~~\n~~~~\n{html}\n~~~~~~~~",
        f"```{{eval-rst}}\n.. raw:: html\n\n   {html}\n```",
        f"```{{code-cell}}\nprint('{SCRIPT}')\n```",
        f"```{{only}} html\n{html}\n```",
        f"```{{figure}} javascript:{ACT}\n:target: javascript:{ACT}\n```",
        f"{{raw}}`{html}`",
        f"```{{math}}\n\\text{{</math>{html}}}\n```",
        # files
        f"```{{include}} {secret}\n```",
        f"- ```{{include}} {secret}\n  ```",
        f"> ```{{literalinclude}} {secret}\n> ```",
        f"Term\n: ```{{include}} {secret}\n  ```",
        f"Note[^2]\n\n[^2]: ```{{include}} {secret}\n    ```",
        f":::{{include}} {secret}\n:::",
        f"::::{{tip}}\n:::{{literalinclude}} {secret}\n:::\n::::",
        f"1. ::::{{include}} {secret}\n   ::::",
        f"```{{raw}} html\n:file: {secret}\n```",
        f"```{{csv-table}} x\n:file: {secret}\n```",
        f"```{{eval-rst}}\n.. include:: {secret}\n```",
        f"{{download}}`{secret}`",
        f"![x]({secret})",
        f"```{{image}} {secret}\n```",
        f"---\nsubstitutions:\n  x: '{html}'\n---\n\n{{{{x}}}}",
        # links
        f"[x](javascript:{ACT})",
        f"[x](<javascript:{ACT}>)",
        f"[x](JaVaScRiPt:{ACT})",
        f"[x](java&#115;cript:{ACT})",
        f"[x](&#x0A;javascript:{ACT})",
        f"[x](vbscript:{ACT})",
        f"[x](data:text/html,{SCRIPT})",
        f"[x][y]\n\n[y]: javascript:{ACT}",
        f"<javascript:{ACT}>",
        f"![x](javascript:{ACT})",
        f"![x](data:image/svg+xml,{SCRIPT})",
        f'[x](https://example.org "{html}")',
        f'[x](https://example.org/" onmouseover="{ACT})',
        f"<a href='  javascript:{ACT}'>x</a>",
        # formulas
        f"$$\\text{{</math>{html}}}$$",
        f"$\\text{{</math>{html}}}$",
        f"$\\href{{javascript:{ACT}}}{{x}}$",
        f"$$\\href{{data:text/html,{SCRIPT}}}{{x}}$$",
        f'$\\style{{background:url(https://example.org)" onmouseover="{ACT}}}{{x}}$',
        f'$\\class{{x" onmouseover="{ACT}}}{{y}}$',
        f"\\begin{{align}}\\text{{</math>{html}}}\\end{{align}}",
        f"- $$\\text{{</mtext></math>{html}}}$$",
        f"$\\unicode{{60}}\\text{{<img src=x onerror={ACT}>}}$",
        f'$\\color{{red" onload="{ACT}}}{{x}}$',
        f"$\\text{{<!--}}$ {html} $\\text{{-->}}$",
    ]


def html_payloads() -> list[str]:
    "Outputs of kind HTML that try to act."
    return [
        SCRIPT,
        IMG,
        f"<scr<script>ipt>{ACT}</scr</script>ipt>",
        f"<SCRIPT\n>{ACT}</SCRIPT\t>",
        f"<img src='x' onerror='{ACT}'/>",
        f'<img alt="" title="" src=x onerror="{ACT}" ',
        f"<a href='javascript:{ACT}' id=x>x</a>",
        f"<a href='jav&#x09;ascript:{ACT}'>x</a>",
        f"<a href=' &#14; javascript:{ACT}'>x</a>",
        f"<p onmouseover={ACT} "
        "style='position:fixed;inset:0;background:url(https://example.org)'>x",
        "<style>body{display:none}</style><p style='behavior:url(#x)'>x",
        f"<table background='javascript:{ACT}'><tr><td>{IMG}</table>",
        f"<math><maction actiontype=statusline xlink:href='javascript:{ACT}'>x</maction></math>",
        f"<svg><a xlink:href='javascript:{ACT}'><text>x</text></a><animate onbegin={ACT} /></svg>",
        f"<svg><use href='data:image/svg+xml,{SCRIPT}'/></svg>",
        f"<svg></p><style><a id='</style>{IMG}'>",
        f"<textarea><p title='</textarea>{IMG}'>",
        f"<xmp><p title='</xmp>{IMG}'>",
        f"<!--[if true]>{SCRIPT}<![endif]-->",
        f"<?php {SCRIPT} ?><![CDATA[{SCRIPT}]]>",
        f"</div></div></section></main>{SCRIPT}",
        f"<form action='javascript:{ACT}'><button formaction='javascript:{ACT}'>x</button></form>",
        f"<iframe src='javascript:parent.{ACT}'></iframe>",
        f"<frameset onload={ACT}><marquee onstart={ACT}>x</marquee>",
        f"<div id=search-results name=cookie>{IMG}</div>",
        f"<b>unclosed <i {IMG}",
        "<link rel=import href='data:text/html,x'><portal src='https://example.org'></portal>",
        f"\x00<scr\x00ipt>{ACT}</script>",
    ]


NAMES = [
    IMG,
    SCRIPT,
    f'"><script>{ACT}</script>',
    f"' onmouseover='{ACT}",
    f"$\\href{{javascript:{ACT}}}{{x}}$",
    f"[x](javascript:{ACT})",
    "```{raw} html",
    "{include}`/etc/passwd`",
    "(target)= % comment +++ :glob: --- # title",
    f"`{IMG}`</code>{IMG}",
    "{{ 7 * 7 }}{% raw %}",
    f"</title></head>{SCRIPT}",
]


def local_form(given: dict[str, str]) -> bool:
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

    def __init__(self, own_scripts: Iterable[str]) -> None:
        super().__init__()
        self.own, self.found, self.script = set(own_scripts), [], None

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
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

    def handle_data(self, data: str) -> None:
        if self.script is not None:
            self.script += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "script" and self.script is not None:
            script, self.script = re.sub(r"(?<=pagename = )'[^']*'", "", self.script), None
            if script.strip() not in self.own:
                self.found.append(f"script {script[:60]}")


def what_could_act(page: str, own_scripts: Iterable[str] = ()) -> list[str]:
    "Scripts, handlers, addresses and frames of a page that are not the site's own."
    looker = Looker(own_scripts)
    looker.feed(page)
    looker.close()
    return looker.found


def browser() -> str | None:
    "A browser, where there is one."
    return next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )


def seen_by_a_browser(address: str) -> tuple[str, str]:
    "The page after its scripts have run, and what the browser said of them."
    with tempfile.TemporaryDirectory() as profile:
        command = [
            browser(),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-sync",
            "--disable-component-update",
            f"--user-data-dir={profile}",
            "--enable-logging=stderr",
            "--virtual-time-budget=3000",
            "--dump-dom",
            address,
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.stdout, done.stderr
