"""PyTorch: a model whose convolutions become convop's, in training and in evaluation."""
import torch
from torch import nn

import convop.torch

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(8),
                      nn.ReLU(), nn.Conv2d(8, 8, 3, padding="same", groups=8), nn.Conv2d(8, 16, 1), nn.ReLU(),
                      nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 2))
images = torch.randn(64, 3, 32, 32)
images[::2] += 0.5
labels = torch.arange(64) % 2
before = model(images)

# In place: weights, hooks and the keys of state_dict stay.
convop.torch.patch(model)
assert torch.allclose(model(images), before, atol=1e-4)

optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(20):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
assert loss < 0.3

# The functions of torch.nn.functional are there as well; channels_last is computed as it is.
last = images.to(memory_format=torch.channels_last)
y = convop.torch.conv2d(last, model[0].weight, stride=2, padding=1)
assert y.is_contiguous(memory_format=torch.channels_last)
convop.torch.unpatch(model)
