#!/usr/bin/env python3
"""MobileNet v1 and v2 for inference: PyTorch's layers, and the same model patched by convop.torch.

    python3 bench/torch_mobilenet.py [--batch 1,8] [--threads 1,2] [--size 224] [--seconds 2]

For each network, batch and number of threads a child process holds both models, so that they have the
same memory and the same cores, and runs them in turns: blocks of calls whose order changes. Shown are
the least and the median time of a call. PyTorch is measured with the plain and with the channels_last
format, the patched model likewise; the ratio is that of the faster ones. Needs the environment `torch`
(scripts/peers.sh) and a built library.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
NETWORKS = ("mobilenet_v1", "mobilenet_v2")


# ---- the networks, from PyTorch's layers ----------------------------------------------------------

def _block(nn, inputs, outputs, size, stride=1, groups=1, activation=None):
    layers = [nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False),
              nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *([activation(inplace=True)] if activation else []))


def mobilenet_v1(nn):
    """Howard et al. 2017, table 1."""
    plan = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2),
            (1024, 1)]
    layers, channels = [_block(nn, 3, 32, 3, 2, activation=nn.ReLU)], 32
    for outputs, stride in plan:
        layers += [_block(nn, channels, channels, 3, stride, channels, nn.ReLU),
                   _block(nn, channels, outputs, 1, activation=nn.ReLU)]
        channels = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1024, 1000))


def mobilenet_v2(nn):
    """Sandler et al. 2018, table 2."""
    class Residual(nn.Module):
        def __init__(self, inputs, outputs, stride, expansion):
            super().__init__()
            inner = inputs * expansion
            self.adds = stride == 1 and inputs == outputs
            expand = [_block(nn, inputs, inner, 1, activation=nn.ReLU6)] if expansion > 1 else []
            self.layers = nn.Sequential(
                *expand, _block(nn, inner, inner, 3, stride, inner, nn.ReLU6),
                _block(nn, inner, outputs, 1))

        def forward(self, x):
            return x + self.layers(x) if self.adds else self.layers(x)

    layers, channels = [_block(nn, 3, 32, 3, 2, activation=nn.ReLU6)], 32
    for expansion, outputs, repeats, stride in (
            (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
            (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(repeats):
            layers.append(Residual(channels, outputs, stride if i == 0 else 1, expansion))
            channels = outputs
    return nn.Sequential(*layers, _block(nn, channels, 1280, 1, activation=nn.ReLU6),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000))


# ---- a child: one network, batch and number of threads --------------------------------------------

def measure(network, batch, threads, size, seconds):
    os.environ["CONVOP_NUM_THREADS"] = str(threads)
    import copy
    import torch
    import convop.torch
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    plain = globals()[network](torch.nn).eval()
    image = torch.randn(batch, 3, size, size)
    last = {"memory_format": torch.channels_last}
    models = {"torch": plain, "torch channels_last": copy.deepcopy(plain).to(**last)}
    for name in list(models):
        models[name.replace("torch", "convop")] = convop.torch.patch(
            copy.deepcopy(models[name]), fuse=True)
    images = {name: image.to(**last) if "last" in name else image for name in models}
    times = {name: [] for name in models}
    with torch.inference_mode():
        expected = plain(image)
        for name, model in models.items():
            torch.testing.assert_close(model(images[name]), expected, rtol=1e-3, atol=1e-3)
        end, turn, names = time.perf_counter() + seconds, 0, list(models)
        while time.perf_counter() < end or turn < 4:
            for i in range(len(names)):
                name = names[(i + turn) % len(names)]
                model, x = models[name], images[name]
                model(x)
                for _ in range(3):
                    start = time.perf_counter()
                    model(x)
                    times[name].append((time.perf_counter() - start) * 1e3)
            turn += 1
    return {name: (min(t), statistics.median(t)) for name, t in times.items()}


# ---- all of them ----------------------------------------------------------------------------------

def run(python, case):
    environment = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "python"))
    done = subprocess.run([python, os.path.abspath(__file__), "--child", json.dumps(case)],
                          env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def main():
    if sys.argv[1:2] == ["--child"]:
        json.dump(measure(**json.loads(sys.argv[2])), sys.stdout)
        return 0
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    numbers = {"type": lambda text: [int(n) for n in text.split(",")]}
    parser.add_argument("--batch", default=[1, 8], **numbers)
    parser.add_argument("--threads", default=[1, 2], **numbers)
    parser.add_argument("--size", default=224, type=int)
    parser.add_argument("--seconds", default=2, type=float, help="for each case")
    given = parser.parse_args()
    sys.path.insert(0, os.path.join(ROOT, "tests", "peers"))
    from run import interpreter
    python = interpreter("torch")
    if not python:
        print("torch is not installed; scripts/peers.sh does that")
        return 77
    columns = ("torch", "torch channels_last", "convop", "convop channels_last")
    print("| network, batch, threads |", *(f" {c} |" for c in columns), "ratio |")
    print("|" + " --- |" * (len(columns) + 2))
    for network in NETWORKS:
        for batch in given.batch:
            for threads in given.threads:
                found = run(python, {"network": network, "batch": batch, "threads": threads,
                                     "size": given.size, "seconds": given.seconds})
                least = {name: t[0] for name, t in found.items()}
                ratio = min(least[c] for c in columns[:2]) / min(least[c] for c in columns[2:])
                print(f"| {network}, {batch}, {threads} |",
                      *(f" {found[c][0]:.2f} ({found[c][1]:.2f}) |" for c in columns),
                      f"{ratio:.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
