"Sphinx settings of the documentation; `docs/library.py` stages the pages and runs Sphinx."

import re
from html import escape

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

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
html_static_path = ["library.css"]
html_css_files = ["library.css"]
html_logo = html_favicon = "../static/mark.svg"
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
    "navbar_end": ["theme-switcher"],
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
    source = node.astext()
    known = source.replace("{aligned}", "{align*}").replace(r"\operatorname*", r"\operatorname")
    try:
        made = re.sub(r"\\([%$#&_])", r"\1", convert(known, display=display))
        fault = "unknown command" if "\\" in made else ""
    except Exception as error:  # the translator has no common base class of errors
        made, fault = "", repr(error)
    if fault:
        logging.getLogger(__name__).warning(
            "formula cannot be shown as MathML (%s): %s", fault, source, location=node
        )
        return f"<code>{escape(source)}</code>"
    return made


def visit_inline(translator, node: nodes.Element) -> None:
    "A formula in a line of text."
    translator.body.append(mathml(node, "inline"))
    raise nodes.SkipNode


def visit_block(translator, node: nodes.Element) -> None:
    "A formula on its own, in a box that scrolls where the page is narrow."
    translator.body.append(f'<div class="formula">{mathml(node, "block")}</div>')
    raise nodes.SkipNode


def setup(app) -> dict[str, bool]:
    "Register what is written here."
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
