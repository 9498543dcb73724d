"""PyTorch on the CPU: conv1d, conv2d, conv3d and autograd, which adds to a gradient that is there."""
import torch

import problem
from serve import serve

GRADIENT_OF = {"src": "diff_src", "weights": "diff_weights", "bias": "diff_bias"}
CONV = (torch.conv1d, torch.conv2d, torch.conv3d)
# Where oneDNN has no kernels of a 16-bit type for the processor, as below AVX-512, gradients come from
# PyTorch's own loops, whose sums are kept in that type, digits short of a float32 sum. There it
# computes in float32, and its results are rounded.
IN_FLOAT32 = [name for name, is_native in (
    ("bfloat16", torch.ops.mkldnn._is_mkldnn_bf16_supported),
    ("float16", torch.ops.mkldnn._is_mkldnn_fp16_supported)) if not is_native()]


def compute(p):
    stored = getattr(torch, p["dtype"])
    dtype = torch.float32 if p["dtype"] in IN_FLOAT32 else stored

    def tensor(name):
        return torch.from_numpy(p["tensors"][name]).to(dtype)

    leaves = {name: tensor(name).requires_grad_() for name in GRADIENT_OF if name in p["tensors"]}
    for name, leaf in leaves.items():
        if p["requests"][GRADIENT_OF[name]] == "add":
            leaf.grad = tensor("old_" + GRADIENT_OF[name])
    dst = CONV[p["axes"] - 1](leaves["src"], leaves["weights"], leaves.get("bias"),
                              stride=p["stride"], padding=p["pad_begin"], dilation=p["dilate"],
                              groups=p["groups"])
    dst.backward(tensor("diff_dst"))
    found = {"dst": dst.detach()}
    found.update({GRADIENT_OF[name]: leaf.grad for name, leaf in leaves.items()})
    exact = torch.float64 if dtype == torch.float64 else torch.float32
    return {name: t.to(stored).to(exact).numpy() for name, t in found.items()}


torch.set_num_threads(2)
serve(compute, f"torch {torch.__version__}" +
      (f" ({', '.join(IN_FLOAT32)} by float32)" if IN_FLOAT32 else ""), adds=problem.OUTPUTS[1:])
