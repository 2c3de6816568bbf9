"""How Sphinx makes the site from the pages of the guide: `cargo xtask docs`.

The source folder is the root of the project, so a link between pages is the same link in the repository.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

project = "usm"
author = "The usm developers"
copyright = "The usm developers"
html_title = "usm"

extensions = ["myst_parser", "sphinx.ext.autodoc", "repository_links", "drawings", "stub_signatures"]
root_doc = "guide/index"
# Other Markdown files are for the repository alone; links to them lead there.
include_patterns = [
    "guide/**.md",
    "guide/**.rst",
    "docs/array-api.md",
    "RELIABILITY.md",
    "docs/decisions/*.md",
    "docs/history/*.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "PERFORMANCE.md",
    "crates/usm-python/README.md",
]
exclude_patterns = ["target", ".git", "guide/_site"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
myst_url_schemes = ["http", "https", "mailto", "rustdoc"]
repository_url = "https://github.com/usm-rs/usm"

nitpicky = True
default_role = "code"
highlight_language = "none"
autodoc_member_order = "alphabetical"
autodoc_typehints = "none"
# Python's own names in signatures need no link.
nitpick_ignore_regex = [("py:.*", r".*")]

html_theme = "pydata_sphinx_theme"
html_static_path = ["static"]
html_css_files = ["usm.css"]
# A start page, and a page with a wide table.
html_sidebars = {"guide/index": [], "guide/interoperability": []}
html_copy_source = False
html_show_sourcelink = False
html_extra_path = ["extra"]
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher", "navbar-icon-links"],
    "icon_links": [{"name": "Repository", "url": repository_url, "icon": "fa-brands fa-github", "type": "fontawesome"}],
    # The button with a text has another name for screen readers than for eyes.
    "navbar_persistent": ["search-button"],
    "show_prev_next": True,
    "secondary_sidebar_items": {"**": ["page-toc"], "guide/index": [], "guide/interoperability": []},
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "navigation_with_keys": False,
}
