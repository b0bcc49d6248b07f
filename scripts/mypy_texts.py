"""A plug-in of mypy: no text of the product is made from a value that may be None, and so none can say "None"."""

from collections.abc import Callable
from typing import Final

from mypy.plugin import MethodContext, Plugin
from mypy.types import NoneType, Type, UnionType, get_proper_type

_FORMAT: Final = "builtins.str.format"
_PRODUCT: Final = ("operator/", "workers/", "contract/", "targets/", "gateway/")


class TextsWithoutNone(Plugin):
    """Checks the values of f-strings, which mypy reads as calls of str.format, and of str.format itself."""

    def get_method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        """Return the check of a call, if it makes a text."""
        return _check if fullname == _FORMAT else None


def _check(context: MethodContext) -> Type:
    if context.api.path.startswith(_PRODUCT):
        for kinds, values in zip(context.arg_types, context.args, strict=True):
            for kind, value in zip(kinds, values, strict=True):
                if _may_be_none(kind):
                    context.api.fail('this value may be None, which would stand in the text as "None"', value)
    return context.default_return_type


def _may_be_none(kind: Type) -> bool:
    proper = get_proper_type(kind)
    if isinstance(proper, UnionType):
        return any(map(_may_be_none, proper.items))
    return isinstance(proper, NoneType)


def plugin(version: str) -> type[Plugin]:
    """Return the plug-in, as mypy asks for it."""
    del version
    return TextsWithoutNone
