"""Hooks of MkDocs: anchors are those of code hosts, and links to files that are not on the site become text with the path."""

import posixpath
import re

_CODE = re.compile(r"^```.*?^```$", re.M | re.S)
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")


def on_config(config):
    def slugify(title, separator):
        return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", separator)

    config["mdx_configs"].setdefault("toc", {})["slugify"] = slugify
    return config


def on_page_markdown(markdown, page, config, files):
    folder = posixpath.dirname(page.file.src_path)

    def rewrite(match):
        text, target = match.groups()
        path = target.partition("#")[0]
        if not path or "://" in path:
            return match.group(0)
        path = posixpath.normpath(posixpath.join(folder, path))
        if files.get_file_from_path(path) is not None:
            return match.group(0)
        shown = text.strip("`")
        return f"`{path}`" if shown in path or path in shown else f"{text} (`{path}`)"

    parts, end = [], 0
    for block in _CODE.finditer(markdown):
        parts += [_LINK.sub(rewrite, markdown[end : block.start()]), block.group(0)]
        end = block.end()
    return "".join(parts) + _LINK.sub(rewrite, markdown[end:])
