"The navigation beside a page is worked out once for a section, and is the theme's for each page."

from __future__ import annotations

from types import ModuleType

import pytest
from conftest import script_of_docs

FOLD = '<summary><i class="fa-solid fa-chevron-down"></i></summary>'
OTHERS = """<ul class="nav bd-sidenav">
<li class="toctree-l1"><a class="reference internal" href="../../study.html">All</a></li>
<li class="toctree-l1"><a class="reference external" href="https://a.b/c/">Elsewhere</a></li>
</ul>"""

# as pydata-sphinx-theme writes it: two participants, of whom one has two reports
BESIDE_FRAMING = f"""<ul class="current nav bd-sidenav">
<li class="toctree-l1 has-children"><a class="reference internal" href="../a/index.html">a</a>\
<details>{FOLD}<ul>
<li class="toctree-l2"><a class="reference internal" href="../a/decoy.html">Decoy</a></li>
</ul>
</details></li>
<li class="toctree-l1 current active has-children">\
<a class="reference internal" href="index.html">b</a>\
<details open="open">{FOLD}<ul class="current">
<li class="toctree-l2"><a class="reference internal" href="decoy.html">Decoy</a></li>
<li class="toctree-l2 current active">\
<a aria-current="page" class="current reference internal" href="#">Framing</a></li>
</ul>
</details></li>
</ul>
{OTHERS}"""
BESIDE_A = f"""<ul class="current nav bd-sidenav">
<li class="toctree-l1 current active has-children">\
<a aria-current="page" class="current reference internal" href="#">a</a>\
<details open="open">{FOLD}<ul>
<li class="toctree-l2"><a class="reference internal" href="decoy.html">Decoy</a></li>
</ul>
</details></li>
<li class="toctree-l1 has-children"><a class="reference internal" href="../b/index.html">b</a>\
<details>{FOLD}<ul>
<li class="toctree-l2"><a class="reference internal" href="../b/decoy.html">Decoy</a></li>
<li class="toctree-l2">\
<a class="reference internal" href="../b/framing.html">Framing</a></li>
</ul>
</details></li>
</ul>
{OTHERS}"""
PAGES = {"r/p/b/framing.html": BESIDE_FRAMING, "r/p/a/index.html": BESIDE_A}


@pytest.fixture(scope="module")
def sidebars() -> ModuleType:
    "The glue of the site that makes navigation."
    pytest.importorskip("sphinx")
    return script_of_docs("sidebars")


@pytest.mark.parametrize("first", PAGES)
@pytest.mark.parametrize("page", PAGES)
def test_it_is_what_the_theme_would_write(sidebars: ModuleType, first: str, page: str) -> None:
    assert sidebars.Sidebar(PAGES[first], first).beside(page) == PAGES[page]


def test_the_theme_is_asked_once_for_a_section(sidebars: ModuleType) -> None:
    asked, made = [], []

    def of_theme(page: str) -> str:
        asked.append(page)
        return PAGES[page]

    for page in [*PAGES, *PAGES]:
        generate = sidebars.share(lambda kind, page=page, **options: of_theme(page), page, made)
        assert generate("sidebar", maxdepth=3) == PAGES[page]
    assert asked == ["r/p/b/framing.html"]


def test_the_first_page_of_a_section_is_left_to_the_theme(sidebars: ModuleType) -> None:
    "Its navigation has no link to itself; another section, or another depth, is not this one."
    made, without = [], PAGES["r/p/a/index.html"].replace(' aria-current="page"', "")
    without = without.replace('class="current reference', 'class="reference')
    without = without.replace('href="#"', 'href="p/a/index.html"')
    first = sidebars.share(lambda kind, **options: without, "r/index.html", made)
    assert first("sidebar", maxdepth=3) == without and made == []
    sidebars.share(lambda kind, **_: BESIDE_A, "r/p/a/index.html", made)("sidebar", maxdepth=3)
    for options in ({"maxdepth": 4}, {"maxdepth": 3, "startdepth": 0}):
        other = sidebars.share(lambda kind, **_: "another", "r/p/b/framing.html", list(made))
        assert other("sidebar", **options) == "another"
    unknown = sidebars.share(lambda kind, **_: "unknown", "s/index.html", list(made))
    assert unknown("sidebar", maxdepth=3) == "unknown"
