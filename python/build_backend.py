"""Builds the wheel: meson-python's, under the tag that the extension is made for. meson-python itself
names the Python that runs it, but the file is good for any from 3.9 on."""
import os
import subprocess
import sys

import mesonpy
from mesonpy import *  # noqa: F403  all other hooks of a build backend


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = mesonpy.build_wheel(wheel_directory, config_settings, metadata_directory)
    if "-abi3-" not in name:
        return name
    renamed = subprocess.run(
        [sys.executable, "-m", "wheel", "tags", "--python-tag", "cp39", "--remove",
         os.path.join(wheel_directory, name)], check=True, stdout=subprocess.PIPE, text=True)
    return os.path.basename(renamed.stdout.split()[-1])
