"""The Python that the manual and the README print runs, and prints what its comments say."""
import os
import re

import pytest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))


@pytest.mark.parametrize("page", ["docs/python.md", "README.md"])
def test_page(page, capsys):
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        blocks = re.findall(r"^```python\n(.*?)^```", file.read(), re.M | re.S)
    for block in blocks:
        exec(compile(block, page, "exec"), {})
        wanted = re.findall(r"^print\(.*?\)\s+# (.*)$", block, re.M)
        assert capsys.readouterr().out.split("\n")[:-1] == wanted
