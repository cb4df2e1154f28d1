"Sphinx settings of the site; `cogbias.site.pages.build_site` stages the pages and runs Sphinx."

import sys
from functools import cache, partial
from pathlib import Path

from docutils import nodes
from pygments.formatters import HtmlFormatter
from pygments.lexer import inherit
from pygments.lexers.python import PythonLexer
from pygments.token import Operator, Punctuation, Text
from sphinx.highlighting import PygmentsBridge
from sphinx.search.en import SearchEnglish
from sphinx.util import logging

from cogbias.markup import formula_html

sys.path.append(str(Path(__file__).parent))  # Sphinx reads this file from elsewhere
from sidebars import Sidebar, share  # noqa: E402

project = "cogbias"
root_doc = "index"
extensions = ["myst_nb"]

# the notebooks were run before they came here
nb_execution_mode = "off"
nb_merge_streams = True
nb_code_prompt_show = "Show code"
nb_code_prompt_hide = "Hide code"
nb_ipywidgets_js = {}  # the default would fetch scripts from the network
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_dmath_double_inline = True
myst_heading_anchors = 3
myst_update_mathjax = False

html_theme = "pydata_sphinx_theme"
html_title = "cogbias"
html_static_path = ["static"]
exclude_patterns = ["**/overview.png"]  # the picture of the README, which no page of a site shows
html_css_files = ["cogbias.css"]
html_js_files = ["scroll.js"]
html_logo = html_favicon = "static/mark.svg"
html_sidebars = {"index": [], "search": []}
html_theme_options = {
    "logo": {"text": "cogbias"},
    "header_links_before_dropdown": 4,
    "navigation_depth": 3,
    "show_nav_level": 1,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": [],
    "footer_end": [],
    "search_bar_text": "Search",
    # the theme fills a template once more to see whether it is empty: what is empty on every page
    # is left out, and what is empty on none is not tried
    "navbar_end": ["theme-switcher"],
    "templates_skip_empty_check": [
        *("navbar-logo.html", "navbar-nav.html", "search-button-field.html"),
        *("sidebar-collapse.html", "sidebar-ethical-ads.html", "sidebar-nav-bs.html"),
        "theme-switcher.html",
    ],
}
# nothing that changes from one build to the next, and no copies of the sources
html_last_updated_fmt = None
html_show_copyright = html_show_sphinx = html_show_sourcelink = html_copy_source = False
html_use_index = False
html_domain_indices = False

# formulas become MathML while the page is built: no script, nothing fetched by the reader
html_math_renderer = "mathml"


def mathml(node: nodes.Element, display: str) -> str:
    "A formula as MathML; its source, with a warning, where it cannot be translated."
    made = formula_html(node.astext(), display)
    if made.fault:
        logging.getLogger(__name__).warning(
            "formula cannot be shown as MathML (%s): %s", made.fault, node.astext(), location=node
        )
    return made.html


def visit_inline(translator, node: nodes.Element) -> None:
    "A formula in a line of text."
    translator.body.append(mathml(node, "inline"))
    raise nodes.SkipNode


def visit_block(translator, node: nodes.Element) -> None:
    "A formula on its own, in a box that scrolls where the page is narrow."
    translator.body.append(f'<div class="formula">{mathml(node, "block")}</div>')
    raise nodes.SkipNode


FORMATTERS: dict[str, HtmlFormatter] = {}  # by what they are told


def formatter(**options: object) -> HtmlFormatter:
    "What writes highlighted code: one for all pieces of code, since each works out its style anew."
    told = repr(sorted(options.items()))
    if told not in FORMATTERS:
        FORMATTERS[told] = HtmlFormatter(**options)
    return FORMATTERS[told]


class Python(PythonLexer):
    "Python as Pygments reads it, which comes to what is most frequent behind dozens of rules."

    tokens = {
        "root": [
            (r"(?<=[^\n])[^\S\n]+", Text),  # where a line begins it may belong to a docstring
            (r"!=|==|<<|>>|:=|[-~+/*%=<>&^|]", Operator),
            (r"[\]{}:(),;\[]", Punctuation),
            inherit,
        ]
    }


SIDEBARS: list[tuple[str, Sidebar]] = []


def share_sidebars(app, pagename: str, templatename: str, context: dict, doctree) -> None:
    "Work out the navigation of a section once for its pages."
    page = app.builder.get_target_uri(pagename)
    context["generate_toctree_html"] = share(context["generate_toctree_html"], page, SIDEBARS)


class English(SearchEnglish):
    "English as Sphinx searches it; a word is stemmed once for all pages."

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self.stem = cache(self.stem)


def setup(app) -> dict[str, bool]:
    "Register what is written here."
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.add_search_language(English)
    app.connect("html-page-context", share_sidebars, priority=900)  # behind the theme
    app.add_lexer("python", partial(Python, stripnl=False))  # as Sphinx takes that of Pygments
    PygmentsBridge.html_formatter = staticmethod(formatter)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
