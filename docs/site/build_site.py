#!/usr/bin/python3
"""Builds the site with MkDocs. The same pages give the same files.

build_site.py OUTPUT CONFIG HOOK TEMPLATE FILES: each line of FILES is `PATH<tab>PATH IN THE TREE`.
"""

import os
import shutil
import subprocess
import sys
import tempfile


def main():
    output, config, hook, template, files = sys.argv[1:]
    mkdocs = shutil.which("mkdocs")
    if mkdocs is None:
        sys.exit("mkdocs is missing: install it (tools/bazel does on Debian)")
    with tempfile.TemporaryDirectory() as folder:
        pages = os.path.join(folder, "docs")  # the default of docs_dir
        with open(files, encoding="utf-8") as lines:
            for line in lines:
                source, name = line.rstrip("\n").split("\t")
                target = os.path.join(pages, name)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copyfile(source, target)
        for file in (config, hook):
            shutil.copy(file, folder)
        os.mkdir(os.path.join(folder, "theme"))
        shutil.copy(template, os.path.join(folder, "theme"))
        # Dates would make each build different.
        environment = dict(os.environ, SOURCE_DATE_EPOCH="0", PYTHONDONTWRITEBYTECODE="1", LC_ALL="C.UTF-8")
        command = [mkdocs, "build", "--strict", "--quiet", "--config-file", os.path.join(folder, os.path.basename(config))]
        result = subprocess.run(command + ["--site-dir", os.path.abspath(output)], env=environment, check=False)
        if result.returncode != 0:
            sys.exit("mkdocs failed (see above)")
    for name in ("sitemap.xml", "sitemap.xml.gz"):  # without the site's address they are of no use
        os.remove(os.path.join(output, name))


if __name__ == "__main__":
    main()
