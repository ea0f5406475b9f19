"""Sphinx' settings for the site. Read by Sphinx, in an environment that has none of our packages."""

project = "effectively-once"
author = "effectively-once contributors"
extensions = ["myst_parser"]
root_doc = "index"
source_suffix = {".md": "markdown"}
exclude_patterns: list[str] = []

# GitHub's names for headings, so that one link works here and there.
myst_heading_anchors = 5
myst_enable_extensions: list[str] = []
# A page may begin with a heading of any level; a block that its language's lexer does not take is shown plain.
suppress_warnings = ["myst.header", "misc.highlighting_failure"]

html_theme = "furo"
html_title = "effectively-once"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["site.css"]
# Excerpts of results are fetched from pages, which a browser forbids to pages that come from a file.
html_show_search_summary = False
html_theme_options = {"navigation_with_keys": True}
