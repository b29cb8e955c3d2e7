# Written by `python -m tools.generate_api` from the entry points of `tangrad.array`: do not edit.

from typing import Any

class MembersOnClass(type):
    def __getattr__(cls, name: str) -> Any: ...

class ArrayMembers(metaclass=MembersOnClass):
    T: Any
    __abs__: Any
    __add__: Any
    __radd__: Any
    __and__: Any
    __rand__: Any
    __array_namespace__: Any
    __contains__: Any
    __divmod__: Any
    __rdivmod__: Any
    __eq__: Any
    __floordiv__: Any
    __rfloordiv__: Any
    __ge__: Any
    __getitem__: Any
    __gt__: Any
    __invert__: Any
    __iter__: Any
    __le__: Any
    __lshift__: Any
    __rlshift__: Any
    __lt__: Any
    __matmul__: Any
    __rmatmul__: Any
    __mod__: Any
    __rmod__: Any
    __mul__: Any
    __rmul__: Any
    __ne__: Any
    __neg__: Any
    __or__: Any
    __ror__: Any
    __pos__: Any
    __pow__: Any
    __rpow__: Any
    __round__: Any
    __rshift__: Any
    __rrshift__: Any
    __sub__: Any
    __rsub__: Any
    __truediv__: Any
    __rtruediv__: Any
    __xor__: Any
    __rxor__: Any
    def addressable_data(self, index: Any) -> Any: ...
    addressable_shards: Any
    def all(self, axis: Any = ..., out: Any = ..., keepdims: Any = ..., *, where: Any = ...) -> Any: ...
    def any(self, axis: Any = ..., out: Any = ..., keepdims: Any = ..., *, where: Any = ...) -> Any: ...
    def argmax(self, axis: Any = ..., out: Any = ..., keepdims: Any = ...) -> Any: ...
    def argmin(self, axis: Any = ..., out: Any = ..., keepdims: Any = ...) -> Any: ...
    def argpartition(self, kth: Any, axis: Any = ...) -> Any: ...
    def argsort(
        self,
        axis: Any = ...,
        *,
        kind: Any = ...,
        order: Any = ...,
        stable: Any = ...,
        descending: Any = ...,
        dtype: Any = ...,
    ) -> Any: ...
    def astype(self, dtype: Any, copy: Any = ..., device: Any = ...) -> Any: ...
    at: Any
    def byteswap(self) -> Any: ...
    def choose(self, choices: Any, out: Any = ..., mode: Any = ...) -> Any: ...
    def clip(self, min: Any = ..., max: Any = ...) -> Any: ...
    def compress(self, condition: Any, axis: Any = ..., **options: Any) -> Any: ...
    conj: Any
    conjugate: Any
    def copy(self, order: Any = ...) -> Any: ...
    ctypes: Any
    def cumprod(self, axis: Any = ..., dtype: Any = ..., out: Any = ...) -> Any: ...
    def cumsum(self, axis: Any = ..., dtype: Any = ..., out: Any = ...) -> Any: ...
    device_buffer: Any
    device_buffers: Any
    def diagonal(self, offset: Any = ..., axis1: Any = ..., axis2: Any = ...) -> Any: ...
    def dot(
        self, b: Any, *, precision: Any = ..., preferred_element_type: Any = ..., out_sharding: Any = ...
    ) -> Any: ...
    flat: Any
    def flatten(self, order: Any = ..., *, out_sharding: Any = ...) -> Any: ...
    global_shards: Any
    imag: Any
    mT: Any
    def max(
        self, axis: Any = ..., out: Any = ..., keepdims: Any = ..., initial: Any = ..., where: Any = ...
    ) -> Any: ...
    def mean(
        self, axis: Any = ..., dtype: Any = ..., out: Any = ..., keepdims: Any = ..., *, where: Any = ...
    ) -> Any: ...
    def min(
        self, axis: Any = ..., out: Any = ..., keepdims: Any = ..., initial: Any = ..., where: Any = ...
    ) -> Any: ...
    def nonzero(self, *, size: Any = ..., fill_value: Any = ...) -> Any: ...
    def prod(
        self,
        axis: Any = ...,
        dtype: Any = ...,
        out: Any = ...,
        keepdims: Any = ...,
        initial: Any = ...,
        where: Any = ...,
        promote_integers: Any = ...,
    ) -> Any: ...
    def ptp(self, axis: Any = ..., out: Any = ..., keepdims: Any = ...) -> Any: ...
    def ravel(self, order: Any = ..., *, out_sharding: Any = ...) -> Any: ...
    real: Any
    def repeat(
        self, repeats: Any, axis: Any = ..., *, total_repeat_length: Any = ..., out_sharding: Any = ...
    ) -> Any: ...
    def reshape(self, *shape: Any, order: Any = ..., copy: Any = ..., out_sharding: Any = ...) -> Any: ...
    def round(self, decimals: Any = ..., out: Any = ...) -> Any: ...
    def searchsorted(self, v: Any, side: Any = ..., sorter: Any = ..., *, method: Any = ...) -> Any: ...
    sharding: Any
    def sort(
        self, axis: Any = ..., *, kind: Any = ..., order: Any = ..., stable: Any = ..., descending: Any = ...
    ) -> Any: ...
    def squeeze(self, axis: Any = ...) -> Any: ...
    def std(
        self,
        axis: Any = ...,
        dtype: Any = ...,
        out: Any = ...,
        ddof: Any = ...,
        keepdims: Any = ...,
        *,
        where: Any = ...,
        mean: Any = ...,
        correction: Any = ...,
    ) -> Any: ...
    def sum(
        self,
        axis: Any = ...,
        dtype: Any = ...,
        out: Any = ...,
        keepdims: Any = ...,
        initial: Any = ...,
        where: Any = ...,
        promote_integers: Any = ...,
    ) -> Any: ...
    def swapaxes(self, axis1: Any, axis2: Any) -> Any: ...
    def take(
        self,
        indices: Any,
        axis: Any = ...,
        out: Any = ...,
        mode: Any = ...,
        unique_indices: Any = ...,
        indices_are_sorted: Any = ...,
        fill_value: Any = ...,
    ) -> Any: ...
    def to_device(self, device: Any, *, stream: Any = ...) -> Any: ...
    def tobytes(self, order: Any = ...) -> Any: ...
    def trace(self, offset: Any = ..., axis1: Any = ..., axis2: Any = ..., dtype: Any = ..., out: Any = ...) -> Any: ...
    def transpose(self, *axes: Any) -> Any: ...
    def var(
        self,
        axis: Any = ...,
        dtype: Any = ...,
        out: Any = ...,
        ddof: Any = ...,
        keepdims: Any = ...,
        *,
        where: Any = ...,
        mean: Any = ...,
        correction: Any = ...,
    ) -> Any: ...
    def view(self, dtype: Any = ..., type: Any = ...) -> Any: ...
