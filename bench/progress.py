"""Where a run is: one moving line on a terminal, in a log a line every ten seconds."""
import sys
import time

PAUSE_S = 10


class Progress:
    def __init__(self):
        self.began = self.told = time.monotonic()

    @property
    def seconds(self):
        return time.monotonic() - self.began

    def show(self, text):
        if sys.stderr.isatty():
            print(f"\r\033[K{text}, {self.seconds:.0f} s", end="", file=sys.stderr, flush=True)
        elif time.monotonic() - self.told >= PAUSE_S:
            self.told = time.monotonic()
            print(f"{text}, after {self.seconds:.0f} s", file=sys.stderr, flush=True)

    def end(self):
        if sys.stderr.isatty():
            print(file=sys.stderr)
