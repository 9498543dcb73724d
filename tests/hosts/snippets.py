"""Runs the Python of a page, block by block: those blocks that name this environment.

    snippets.py PAGE ENVIRONMENT        ```python ENVIRONMENT begins such a block
"""
import re
import sys


def main():
    page, environment = sys.argv[1:]
    with open(page, encoding="utf-8") as text:
        blocks = re.findall(rf"^```python {environment}\n(.*?)^```", text.read(), re.M | re.S)
    if not blocks:
        sys.exit(f"{page} has no Python for {environment}")
    for number, block in enumerate(blocks, 1):
        exec(compile(block, f"{page}, block {number} for {environment}", "exec"), {})
    print(f"{len(blocks)} blocks ran")


main()
