"""The navigation beside a page, worked out once for a section of the site.

The theme works it out anew in every folder, and each participant has one: of many participants the
navigation took longer than all that stands on their pages. Here what the theme has made for one
page of a section is taken apart, and put together for the others: links are relative to the page,
and what leads to the page is marked and open. `tests/test_sidebars.py` compares the two.
"""

import posixpath
import re
from collections.abc import Callable
from typing import Any

from sphinx.util.osutil import relative_uri

TAG = re.compile(r"(</?(?:ul|li|details|a)\b[^>]*>)")
LINK = re.compile(r'(.* href=")([^"]*)(".*)')


def unmarked(tag: str) -> str:
    "A tag as it is where it does not lead to the page."
    tag = re.sub(r' (?:aria-current="page"|class="current"|open="open")', "", tag)
    return tag.replace(" current active", "").replace('class="current ', 'class="')


def marked(tag: str) -> str:
    "A list, an item or a fold as it is where it leads to the page."
    if tag.startswith("<li"):
        return re.sub(r'(class="[\w-]+)', r"\1 current active", tag)
    if tag.startswith("<details"):
        return '<details open="open">'
    return '<ul class="current">' if tag == "<ul>" else tag.replace('class="', 'class="current ')


class Sidebar:
    "The navigation of a section; pages are named by their addresses."

    def __init__(
        self,
        made: str,  # by the theme
        page: str,  # for this page
    ) -> None:
        self.pieces = TAG.split(made)  # texts, and tags between them
        self.links: dict[int, tuple[str, str, str]] = {}  # place -> page, text before and behind
        self.around: dict[str, set[int]] = {}  # page -> places of the tags that lead to it
        self.here = ""  # the tag of a link to the page itself
        opened: list[int] = []
        folds: dict[int, int] = {}  # place of an item -> place of what folds the pages below it
        outer: dict[int, list[int]] = {}
        for at in range(1, len(self.pieces), 2):
            tag = self.pieces[at]
            if tag.startswith("</"):
                opened.pop()
                continue
            if tag.startswith("<details"):
                folds[opened[-1]] = at
            if tag.startswith("<a") and "internal" in tag:
                self._add_link(at, page)
                outer[at] = opened[:]
            opened.append(at)
            self.pieces[at] = unmarked(tag)
        for at, (linked, _, _) in self.links.items():
            inner = [folds[item] for item in outer[at] if item in folds]
            self.around.setdefault(linked, set()).update(outer[at], inner)

    def _add_link(self, at: int, page: str) -> None:
        "Note where a link leads."
        before, to, behind = LINK.fullmatch(self.pieces[at]).groups()
        if to == "#":
            self.here, linked = self.pieces[at], page
        else:
            linked = posixpath.normpath(posixpath.join(posixpath.dirname(page), to))
        self.links[at] = linked, unmarked(before), behind

    def beside(
        self,
        page: str,  # one that it links to
    ) -> str:
        "The navigation as it stands beside a page."
        pieces = self.pieces[:]
        for at, (linked, before, behind) in self.links.items():
            there = linked == page
            pieces[at] = self.here if there else before + relative_uri(page, linked) + behind
        for at in self.around[page]:
            pieces[at] = marked(pieces[at])
        return "".join(pieces)


def share(
    of_theme: Callable[..., Any],  # what makes the navigation of a page
    page: str,  # its address
    made: list[tuple[str, Sidebar]],  # so far, with what was asked for
) -> Callable[..., Any]:
    "What the templates call in its place."

    def generate(kind: str, **options: Any) -> Any:
        if kind != "sidebar":
            return of_theme(kind, **options)
        asked = repr(sorted(options.items()))
        for asked_before, sidebar in made:
            if asked_before == asked and page in sidebar.around:
                return sidebar.beside(page)
        text = str(of_theme(kind, **options))
        sidebar = Sidebar(text, page)
        if sidebar.here:  # beside the first page of a section no link is its own
            made.append((asked, sidebar))
        return text

    return generate
