"""`pjit`: `jit` with shardings, under the name and with the conventions of the time when it was a function apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from tangrad import tree
from tangrad._sharding.context import place_of
from tangrad.core import EVAL_TRACE, WrappedSignature, copy_identity, thread
from tangrad.core.settings import SETTINGS
from tangrad.extend.jit import jit
from tangrad.sharding import Mesh, NamedSharding, PartitionSpec, get_mesh

P = ParamSpec("P")
R = TypeVar("R", covariant=True)

if TYPE_CHECKING:
    from typing import Protocol

    from tangrad.core import Device
    from tangrad.typing import Params, PyTree

    class Compiled(Protocol[P, R]):  # what `pjit` returns
        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
        def lower(self, *args: object, **kwargs: object) -> Any: ...
        def trace(self, *args: PyTree, **kwargs: PyTree) -> Any: ...
        def eval_shape(self, *args: object, **kwargs: object) -> PyTree: ...
        def clear_cache(self) -> None: ...
        @property
        def trace_count(self) -> int: ...


class _Unspecified:
    """The default for shardings that are not given, since None is a statement."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "unspecified"


_UNSPECIFIED = _Unspecified()


def pjit(
    fun: Callable[P, R],
    in_shardings: object = _UNSPECIFIED,
    out_shardings: object = _UNSPECIFIED,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
    keep_unused: bool = False,
    device: Device | None = None,
    backend: str | None = None,
    inline: bool = False,
) -> Compiled[P, R]:
    """Compile `fun` for arrays of given shardings: `tangrad.jit`, but for what None means.

    Args:
        fun: a function of arrays and trees of arrays.
        in_shardings: how the positional arguments must be sharded: a sharding, a partition spec (it means axes of the
            mesh in use at the call), or a prefix of the arguments of these. None means the whole on each device of the
            mesh in use; without a mesh, and where the argument is left out, the sharding is left open.
        out_shardings: the same for the result.
        static_argnums, static_argnames, donate_argnums, donate_argnames, keep_unused, device, backend, inline: as in
            `tangrad.jit`.

    Returns:
        a function of the same arguments, with `lower(...)`.

    Raises what `tangrad.jit` raises; RuntimeError for partition specs where no mesh is in use.

    >>> import tangrad
    >>> from tangrad.experimental.pjit import pjit
    >>> from tangrad.sharding import PartitionSpec
    >>> with tangrad.make_mesh((1,), ("data",)):
    ...     y = pjit(lambda x: 2 * x, in_shardings=PartitionSpec("data"), out_shardings=None)(tangrad.numpy.ones(2))
    >>> y
    Array([2., 2.], dtype=float32)
    """
    options: Params = {
        "static_argnums": static_argnums, "static_argnames": static_argnames, "donate_argnums": donate_argnums,
        "donate_argnames": donate_argnames, "keep_unused": keep_unused, "device": device, "backend": backend,
        "inline": inline,
    }  # fmt: skip
    shardings: Params = {"in_shardings": in_shardings, "out_shardings": out_shardings}
    stated = {name: value for name, value in shardings.items() if value is not _UNSPECIFIED}
    function = jit(fun, **options, **stated)  # which looks at what was given
    return MeshBoundFunction(fun, function, options, stated)


class MeshBoundFunction:
    """A compiled function that runs on the mesh in use; None among its shardings is the whole on each device."""

    __signature__ = WrappedSignature()

    def __init__(
        self,
        fun: Callable[..., PyTree],
        without_mesh: Compiled[..., PyTree],
        options: Params,
        shardings: Mapping[str, object],
    ) -> None:
        self._fun = fun
        self._options = options
        self._shardings = shardings
        leaves = [leaf for value in shardings.values() for leaf in tree.leaves(value, is_leaf=_is_none)]
        self._whole = any([leaf is None for leaf in leaves])
        self._without_mesh = without_mesh
        self._of_mesh: dict[Mesh, Compiled[..., PyTree]] = {}
        copy_identity(self, fun)

    def _function(self) -> Compiled[..., PyTree]:
        mesh = get_mesh()
        if mesh.empty or not self._whole:
            return self._without_mesh
        found = self._of_mesh.get(mesh)
        if found is None:
            whole = NamedSharding(mesh, PartitionSpec())
            shardings = {
                name: tree.map(lambda leaf: whole if leaf is None else leaf, value, is_leaf=_is_none)
                for name, value in self._shardings.items()
            }
            found = self._of_mesh[mesh] = jit(self._fun, **self._options, **shardings)
        return found

    def __call__(self, *args: PyTree, **kwargs: PyTree) -> PyTree:
        _check_devices(self._fun, (args, kwargs))
        with _on_mesh():
            return self._function()(*args, **kwargs)

    def __get__(self, instance: object, owner: object = None) -> Callable[..., PyTree]:
        """In a class body it is a method."""
        return self if instance is None else lambda *args, **kwargs: self(instance, *args, **kwargs)

    def lower(self, *args: object, **kwargs: object) -> Any:
        """The program for these arguments under the mesh in use, not yet compiled."""
        with _on_mesh():
            return self._function().lower(*args, **kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Any:
        """The traced function for these arguments under the mesh in use."""
        with _on_mesh():
            return self._function().trace(*args, **kwargs)

    def eval_shape(self, *args: object, **kwargs: object) -> PyTree:
        """Shapes and dtypes of the result."""
        return self._function().eval_shape(*args, **kwargs)

    def clear_cache(self) -> None:
        """Forget what was compiled, under every mesh."""
        for function in (self._without_mesh, *self._of_mesh.values()):
            function.clear_cache()

    @property
    def trace_count(self) -> int:
        """How often the function was traced, under any mesh."""
        return sum([function.trace_count for function in (self._without_mesh, *self._of_mesh.values())])

    def __repr__(self) -> str:
        return f"<pjitted {_name_of(self._fun)}>"


def _name_of(function: object) -> str:
    name: str = getattr(function, "__name__", type(function).__name__)
    return name


def _check_devices(function: object, args: object) -> None:
    """Raise ValueError for arrays over other devices than those of the mesh in use."""
    mesh = thread.mesh
    if mesh is None or mesh.empty or thread.trace is not EVAL_TRACE:
        return
    for sharding in [getattr(leaf, "user_sharding", None) for leaf in tree.leaves(args)]:
        if sharding is not None and sharding.device_set != set(mesh.device_order):
            raise ValueError(
                f"Received incompatible devices for jitted computation {_name_of(function)}: the mesh in use is "
                f"{mesh}, and an argument is sharded by {sharding}, over other devices; move it by tangrad.device_put"
            )


def _on_mesh() -> AbstractContextManager[object]:
    """Let what nothing has placed be on the mesh in use, except within what is traced already."""
    if thread.mesh is None or thread.trace is not EVAL_TRACE:
        return nullcontext()
    override: AbstractContextManager[object] = SETTINGS["default_device"](place_of(thread.mesh))
    return override


def _is_none(leaf: object) -> bool:
    return leaf is None
