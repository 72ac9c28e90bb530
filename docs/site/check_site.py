"""Checks a site: check_site.py FOLDER CONFIG. All findings are printed.

Every link leads to a file and an anchor of the site, every page loads only files of the site, Markdown is rendered, and
every page of the navigation exists.
"""

import html.parser
import os
import re
import sys
import urllib.parse

_LOADED = {("img", "src"), ("script", "src"), ("link", "href")}
# Markdown that needs another syntax in MkDocs: lists and tables follow an empty line.
_RAW = re.compile(r"\n\s*(- \S|\d+\. \S|\|.*\|\s*$|```)", re.M)


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.anchors, self.raw = [], [], set(), []
        self._paragraph = None
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name") and tag != "meta":
                self.anchors.add(value)
            if (tag, name) in _LOADED:
                self.loaded.append(value)
            elif (tag, name) == ("a", "href"):
                self.links.append(value)
        if tag == "p":
            self._paragraph = ""
        elif tag == "code" and self._paragraph is not None:
            self._paragraph += "`"

    def handle_endtag(self, tag):
        if tag == "p" and self._paragraph is not None:
            if _RAW.search(self._paragraph):
                self.raw.append(self._paragraph)
            self._paragraph = None

    def handle_data(self, data):
        if self._paragraph is not None:
            self._paragraph += data


def check(folder, config):
    paths = [os.path.relpath(os.path.join(root, name), folder) for root, _, names in os.walk(folder) for name in names]
    pages = {path: Page(os.path.join(folder, path)) for path in sorted(paths) if path.endswith(".html")}
    findings, links = [], 0
    for path, page in pages.items():
        if path == "404.html":
            continue  # its links are absolute, for servers
        for target in page.loaded + page.links:
            url = urllib.parse.urlsplit(target)
            if url.scheme or url.netloc:
                if target in page.loaded:
                    findings.append(f"{path}: loads {target} from the network")
                continue
            links += 1
            name = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(url.path))) if url.path else path
            if os.path.isdir(os.path.join(folder, name)):
                name = os.path.join(name, "index.html")
            if name.startswith("..") or not os.path.isfile(os.path.join(folder, name)):
                findings.append(f"{path}: link to {target}, which does not exist")
            elif url.fragment and name in pages and url.fragment not in pages[name].anchors:
                findings.append(f"{path}: link to {target}: {name} has no such anchor")
        findings += [f"{path}: Markdown that is not rendered: {raw!r}" for raw in page.raw]
    with open(config, encoding="utf-8") as file:
        named = re.findall(r": (\S+)\.md$", file.read(), re.M)
    for name in named:
        if re.sub(r"README$", "index", name) + ".html" not in pages:
            findings.append(f"navigation: {name}.md is not on the site")
    return findings, len(pages), links, len(named)


def main():
    findings, pages, links, named = check(*sys.argv[1:])
    print("\n".join(findings))
    print(f"{pages} pages, {links} links, {named} of the pages in the navigation; {len(findings)} findings")
    sys.exit(1 if findings or pages < 20 else 0)


if __name__ == "__main__":
    main()
