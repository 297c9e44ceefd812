"""Which Python functions a job may call: those registered, and those of modules that are allowed.

@handler("reports.nightly")
def nightly(payload: Any, context: Context) -> Any:
...
"""

import importlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from lamplighter.ports.target import Context, TargetFailed

Function = Callable[[Any, Context], Any]


class Handler(msgspec.Struct, frozen=True):
    """`quick` promises microseconds and no waiting: it runs without a thread or a timeout."""

    function: Function
    quick: bool = False


_BUILTIN: Final = "lamplighter.adapters.targets.python.builtin"
_registered: Final[dict[str, Handler]] = {}


def handler(name: str, *, quick: bool = False) -> Callable[[Function], Function]:
    """Let jobs call the function by this name."""

    def register(function: Function) -> Function:
        if name in _registered:
            raise ValueError(f"two handlers are named {name!r}; rename one of them")
        _registered[name] = Handler(_checked(name, function), quick)
        return function

    return register


class Handlers:
    """The registered ones, and public functions `module:function` of packages in `allowed`.

    `modules` are imported now: they register what the deployment has.
    """

    def __init__(self, allowed: Sequence[str] = (), modules: Sequence[str] = ()) -> None:
        for module in (_BUILTIN, *modules):
            importlib.import_module(module)
        self._allowed = tuple(allowed)

    def is_quick(self, name: str) -> bool:
        known = _registered.get(name)
        return known is not None and known.quick

    def find(self, name: str) -> Handler:
        """Raises TargetFailed, which no retry would help."""
        known = _registered.get(name)
        if known is not None:
            return known
        module, _, attribute = name.rpartition(":" if ":" in name else ".")
        if not self._may_import(module):
            raise TargetFailed(
                f"no handler {name!r} is registered on this worker, and its module is not allowed;"
                f" there are {', '.join(sorted(_registered))}",
                retryable=False,
            )
        found = _checked(name, _imported(name, module, attribute))
        if not _is_offered(found, module, attribute):
            raise TargetFailed(
                f"handler {name!r} is not for jobs: a function may be called by its path where its"
                f" own module is {module} and its name has no leading underscore; any other needs"
                " @handler",
                retryable=False,
            )
        return Handler(found)

    def _may_import(self, module: str) -> bool:
        """An allowed package's own modules too, but its private ones only where they are named."""
        return any(
            module == each or (module.startswith(f"{each}.") and "._" not in module[len(each) :])
            for each in self._allowed
        )


def _imported(name: str, module: str, attribute: str) -> object:
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as problem:
        raise TargetFailed(f"handler {name!r}: {problem}", retryable=False) from problem


def _is_offered(found: object, module: str, attribute: str) -> bool:
    """Whoever names a module means what it defines, not what it needs: `run` of subprocess, say."""
    return (
        inspect.isfunction(found)
        and found.__module__ == module
        and not attribute.startswith("_")
    )  # fmt: skip


def _checked(name: str, function: object) -> Function:
    if not callable(function):
        raise TargetFailed(f"handler {name!r} is not a function", retryable=False)
    if inspect.iscoroutinefunction(function):
        raise TargetFailed(
            f"handler {name!r} is a coroutine function; call asyncio.run inside a plain one",
            retryable=False,
        )
    return function
