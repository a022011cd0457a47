"""How Sphinx builds the documentation: `make docs`. Nothing that it writes is kept in git."""

import re
import sys
import tomllib
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "_ext"))

project = "varfocus"
author = "The varfocus developers"
copyright = "the varfocus developers"  # noqa: A001, Sphinx's name
version = release = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
    "version"
]

extensions = [
    "docstrings",
    "run",
    "written",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["gallery"]  # its scripts become docs/examples
suppress_warnings = [
    "ref.python",  # short names in docstrings, such as `source`, may mean several things
    "ref.citation",  # docstrings of modules list what they rest on, cited or not
]
show_warning_types = True

myst_enable_extensions = ["amsmath", "attrs_block", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

default_role = "py:obj"
add_module_names = False
toc_object_entries_show_parents = "hide"
autodoc_default_options = {"member-order": "bysource", "ignore-module-all": True}
autodoc_typehints = "none"  # numpydoc's parameter lists say them in words
autosummary_generate = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "capture_repr": (),
    "remove_config_comments": True,
    "min_reported_time": 10_000,
    "write_computation_times": False,
    "thumbnail_size": (600, 360),
}

# Formulas without a network: MathJax lies beside the pages if `make docs` could fetch it.
MATHJAX = ROOT / "build" / "mathjax" / "node_modules" / "mathjax" / "es5" / "tex-svg-full.js"
mathjax3_config = {"svg": {"fontCache": "global"}, "options": {"enableMenu": False}}

templates_path: list[str] = []
html_theme = "pydata_sphinx_theme"
html_title = "varfocus"
html_favicon = "../web/public/icon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None
if MATHJAX.is_file():
    html_static_path.append(str(MATHJAX))
    mathjax_path = MATHJAX.name
html_theme_options = {
    "logo": {
        "text": "varfocus",
        "image_light": "../web/public/icon.svg",
        "image_dark": "../web/public/icon.svg",
    },
    "show_prev_next": True,
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark",
    "back_to_top_button": False,
}
html_sidebars = {"install": [], "examples/*": []}

copybutton_exclude = ".linenos, .gp"
copybutton_selector = "div:not(.output) > div.highlight pre"

linkcheck_anchors = False
linkcheck_retries = 2

OUTSIDE = {
    "../SECURITY.md": "about/security.md",
    "../CONTRIBUTING.md": "about/contributing.md",
    "../CHANGELOG.md": "about/changelog.md",
}
"""Files beside docs/ that are pages here as well."""


INTEGRATIONS = "## In the programs you use already"


def leave_out(app: Sphinx, page: str, source: list[str]) -> None:
    """Drop the section on integrations where there are none."""
    del app
    if page == "how-to/index" and not list((HERE / "integrations").glob("*.md")):
        source[0] = source[0].partition(INTEGRATIONS)[0]


def lead_inside(app: Sphinx, page: str, source: list[str]) -> None:
    """Turn links to files beside docs/ into links to their pages, or to the files themselves."""
    del app
    up = "../" * page.count("/")
    for outside, inside in OUTSIDE.items():
        source[0] = source[0].replace(f"]({up}{outside}", f"]({up}{inside}")
    source[0] = re.sub(
        rf"\[([^\]]+)\]\(({re.escape(up)}\.\./[\w./-]+)\)", r"{download}`\1 <\2>`", source[0]
    )


def setup(app: Sphinx) -> None:
    """Connect what is above."""
    app.connect("source-read", lead_inside)
    app.connect("source-read", leave_out)
