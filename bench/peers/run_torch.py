"""PyTorch: contiguous and channels_last, forward without autograd; backward by the operator itself."""
import torch

from contender import serve, tensors, threads

torch.set_num_threads(threads())
torch.set_grad_enabled(False)
CONV = (torch.conv1d, torch.conv2d, torch.conv3d)
FORMATS = {"nchw": torch.contiguous_format, "channels_last": torch.channels_last,
           "channels_last_3d": torch.channels_last_3d}


def variants_of(p, direction):
    if p.pad != p.pad_end and any(e >= s for e, s in zip(p.pad_end, p.stride)):
        raise ValueError("padding differs at begin and end")
    found = {}
    for name in ("nchw",) + ((), ("channels_last",), ("channels_last_3d",))[p.axes - 1]:
        src, weights, diff_dst = (torch.from_numpy(a).to(memory_format=FORMATS[name])
                                  for a in tensors(p))
        add(found, name, direction, p, src, weights, diff_dst)
    return found


def add(found, name, direction, p, src, weights, diff_dst):
    if direction == "FWD":
        found[name] = lambda: CONV[p.axes - 1](src, weights, None, p.stride, p.pad, p.dilate, p.g)
        return
    found[name] = lambda: torch.ops.aten.convolution_backward(
        diff_dst, src, weights, None, p.stride, p.pad, p.dilate, False, [0] * p.axes, p.g,
        [True, True, False])


serve(f"torch {torch.__version__}", variants_of)
