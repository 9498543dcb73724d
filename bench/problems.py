"""Problem lists: the subset of benchdnn's convolution descriptors that the lists in problems/ use.

A descriptor becomes a Problem, whose tuples have one entry for each spatial axis, the slowest first.
`convop bench` has the full reader; this one refuses what it does not know.
"""
import dataclasses
import math
import pathlib
import re

TOKEN = re.compile(r'n"?([^"]*)"?$|(g|mb|ic|oc|[iokspd][dhw])(\d+)')


@dataclasses.dataclass(frozen=True)
class Problem:
    name: str
    list_name: str
    g: int
    mb: int
    ic: int
    oc: int
    size: tuple
    out: tuple
    kernel: tuple
    stride: tuple
    pad: tuple  # at the begin
    pad_end: tuple
    dilate: tuple  # from 1

    @property
    def axes(self):
        return len(self.size)

    @property
    def flops(self):
        """As many for each direction: two for each product with an element of the image."""
        products = self.mb * self.oc * self.ic // self.g
        for i, o, k, s, p, d in zip(self.size, self.out, self.kernel, self.stride, self.pad,
                                    self.dilate):
            products *= sum(0 <= y * s - p + t * d < i for y in range(o) for t in range(k))
        return 2 * products

    def moved_bytes(self, backward):
        """Each tensor of float32 once: backward reads three and writes two."""
        src, weights, dst = (4 * math.prod(shape) for shape in self.shapes())
        return (src + weights) * (2 if backward else 1) + dst

    @property
    def kind(self):
        """The class of layer that its figures are summed up in."""
        if self.g > 1 and self.g == self.ic:
            return "depthwise 3x3" if self.kernel == (3, 3) else "depthwise, other"
        if self.g > 1:
            return "grouped"
        if self.ic <= 3:
            return "first layer"
        if all(k == 1 for k in self.kernel):
            return "1x1"
        if self.kernel == (3, 3):
            return "dense 3x3"
        return "other"

    def shapes(self):
        """src, weights, dst as {mb, ic, size...} whatever the layout."""
        return ((self.mb, self.ic, *self.size), (self.oc, self.ic // self.g, *self.kernel),
                (self.mb, self.oc, *self.out))

    def descriptor(self):
        text = f"g{self.g}mb{self.mb}ic{self.ic}oc{self.oc}"
        for i, axis in enumerate("dhw"[3 - self.axes:]):
            text += (f"i{axis}{self.size[i]}o{axis}{self.out[i]}k{axis}{self.kernel[i]}"
                     f"s{axis}{self.stride[i]}p{axis}{self.pad[i]}d{axis}{self.dilate[i] - 1}")
        return text


def parse(text, list_name="", mb=None):
    found, name, at = {}, text, 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise ValueError(f"{text}: nothing known begins at '{text[at:]}'")
        if match.group(2):
            found[match.group(2)] = int(match.group(3))
        else:
            name = match.group(1)
        at = match.end()
    axes = "dhw"["dhw".index(next(a for a in "dhw" if "i" + a in found)):]
    values = {}
    for letter, default in (("i", None), ("o", 0), ("k", None), ("s", 1), ("p", 0), ("d", 0)):
        last, values[letter] = default, []
        for axis in axes:
            # An output belongs to the sizes of its own axis.
            if letter == "o" and any(key + axis in found for key in "ikspd"):
                last = default
            last = found.get(letter + axis, last)
            values[letter].append(last)
    out = [o or (i + 2 * p - (d + 1) * (k - 1) - 1) // s + 1
           for i, o, k, s, p, d in zip(*(values[x] for x in "ioksp"), values["d"])]
    pad_end = [(o - 1) * s + (d + 1) * (k - 1) + 1 - i - p for i, o, k, s, p, d in
               zip(values["i"], out, *(values[x] for x in "ksp"), values["d"])]
    return Problem(name, list_name, found.get("g", 1), mb or found.get("mb", 2), found["ic"],
                   found["oc"], tuple(values["i"]), tuple(out), tuple(values["k"]),
                   tuple(values["s"]), tuple(values["p"]), tuple(max(0, e) for e in pad_end),
                   tuple(d + 1 for d in values["d"]))


def load(path, mb=None):
    path = pathlib.Path(path)
    lines = (line.split("#")[0].strip() for line in path.read_text().splitlines())
    return [parse(line, path.stem, mb) for line in lines if line]


def lists(names=()):
    """The paths of the lists of that name; all where no name is given."""
    folder = pathlib.Path(__file__).parent / "problems"
    return [folder / f"{name}.txt" for name in names] or sorted(folder.glob("*.txt"))
