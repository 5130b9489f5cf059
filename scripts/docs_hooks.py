"""MkDocs hooks (mkdocs.yml): links that leave docs/ lead to the repository instead."""

import posixpath
import re

LINK = re.compile(r"(\]\()(\.\./[^()\s#]*)(#[^()\s]*)?(\))")


def on_page_markdown(markdown, page, config, files):
    folder = posixpath.dirname(page.file.src_uri)

    def outside(link):
        path = posixpath.normpath(posixpath.join("docs", folder, link[2]))
        if path.startswith("docs/"):
            return link[0]
        return f"{link[1]}{config.repo_url}/blob/main/{path}{link[3] or ''}{link[4]}"

    return LINK.sub(outside, markdown)
