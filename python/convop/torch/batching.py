"""torch.vmap: a batch of convolutions is one convolution whose groups are those of all members.

Only where all share one weight is there a shorter way: the members are further images.
"""


def _fold(tensor, axis, batch, into):
    """The batch, made anew where the tensor has none, merged into the axis `into`."""
    if axis is None:
        tensor = tensor.unsqueeze(into).expand(*tensor.shape[:into], batch, *tensor.shape[into:])
    else:
        tensor = tensor.movedim(axis, into)
    return tensor.flatten(into, into + 1)


def forward(convolve, batch, in_dims, input, weight, bias, geometry):
    """The result and the axis of its batch, from one call of `convolve`."""
    if in_dims[1] is None and in_dims[2] is None:
        result = convolve(_fold(input, in_dims[0], batch, 0), weight, bias, geometry)
        return result.unflatten(0, (batch, -1)), 0
    if bias is not None:
        bias = _fold(bias, in_dims[2], batch, 0)
    result = convolve(_fold(input, in_dims[0], batch, 1), _fold(weight, in_dims[1], batch, 0), bias,
                      geometry._replace(groups=geometry.groups * batch))
    return result.unflatten(1, (batch, -1)), 1


def backward(differentiate, batch, in_dims, grad, input, weight, wanted, geometry):
    """The gradients and the axes of their batches, from one call of `differentiate`."""
    found = differentiate(_fold(grad, in_dims[0], batch, 1), _fold(input, in_dims[1], batch, 1),
                          _fold(weight, in_dims[2], batch, 0), wanted,
                          geometry._replace(groups=geometry.groups * batch))
    axes = tuple(axis if wants else None for axis, wants in zip((1, 0, 0), wanted))
    return tuple(gradient if axis is None else gradient.unflatten(axis, (batch, -1))
                 for gradient, axis in zip(found, axes)), axes
