"""What the tests of tune, cache and explain share: a tuning cache of their own for each test, in a
folder that goes with it. Who wins is never checked, but that what won is what is kept, listed and
used."""
import json
import os
import tempfile

from command import Case

# Each has two rows and more that compute it, in each direction.
DEPTHWISE = "g8mb1ic8ih9oc8kh3ph1"
DENSE = 'mb1ic8ih9oc8kh3ph1n"dense one"'
BUDGET = "--budget=20"


class Cache(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        self.folder = os.path.join(self.root, "cache")
        self.file = os.path.join(self.folder, "tuning.tsv")

    def ok(self, *arguments, **environment):
        return self.run_ok(*arguments, **{"CONVOP_CACHE_DIR": self.folder, **environment})

    def bad(self, status, *arguments, **environment):
        return self.run_bad(status, *arguments, **{"CONVOP_CACHE_DIR": self.folder, **environment})

    def objects(self, *arguments, **environment):
        return [json.loads(line) for line in self.ok(*arguments, **environment).splitlines()]

    def records(self, *arguments, **environment):
        return self.objects("cache", "list", "--json", *arguments, **environment)

    def append(self, line):
        with open(self.file, "a", encoding="utf-8") as file:
            file.write(line)

    def lines(self):
        with open(self.file, encoding="utf-8") as file:
            return file.read().splitlines()
