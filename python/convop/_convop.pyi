# The functions of the extension. An array is any object with __dlpack__; what comes out is of the kind
# of what went in.
from typing import Any, Literal, Optional, Sequence, Tuple, TypeVar, Union

_Array = TypeVar("_Array")
_Sizes = Union[int, Sequence[int], None]
_Padding = Union[int, Sequence[int], Sequence[Tuple[int, int]]]
_Request = Optional[Literal["write", "add", "null"]]
_Layout = Optional[Literal["NCW", "NWC", "NCHW", "NHWC", "NCDHW", "NDHWC"]]
# The exchange API of convop.Array, a capsule.
exchange_api: Any
_export: Any
_of_status: Any

class Prepared:
    """An operator with its last inputs fixed; prepare() makes it."""
    def __new__(cls, planner: Any) -> "Prepared": ...
    def __call__(self, x: _Array, *inputs: Any, out: Any = None) -> Any: ...

def invoke(
    name: str, inputs: Sequence[Any], *,
    out: Any = None, request: Union[_Request, Sequence[_Request]] = "write",
    is_train: bool = False, **parameters: Any,
) -> Any: ...

_Tune = Optional[Literal["off", "limited_workspace", "fastest"]]

_Activation = Literal["none", "relu", "relu6"]

def conv_forward(
    x: _Array, w: Any, b: Any = None, *,
    residual: Any = None, out: Any = None, request: _Request = "write", activation: _Activation = "none",
    kernel: _Sizes = None, stride: _Sizes = 1, dilate: _Sizes = 1, pad: _Padding = 0,
    num_filter: Optional[int] = None, num_group: int = 1, layout: _Layout = None,
    workspace: int = 1024, workspace_bytes: Optional[int] = None,
    cudnn_tune: _Tune = None, cudnn_off: bool = False, depthwise_conv_off: bool = False,
) -> _Array: ...
def conv_backward(
    dy: Any, x: Any, w: Any, b: Any = None, *,
    grad_req: Union[_Request, Sequence[_Request]] = "write", out: Optional[Sequence[Any]] = None,
    kernel: _Sizes = None, stride: _Sizes = 1, dilate: _Sizes = 1, pad: _Padding = 0,
    num_filter: Optional[int] = None, num_group: int = 1, layout: _Layout = None,
    workspace: int = 1024, workspace_bytes: Optional[int] = None,
    cudnn_tune: _Tune = None, cudnn_off: bool = False, depthwise_conv_off: bool = False,
) -> Tuple[Any, Any, Any]: ...
