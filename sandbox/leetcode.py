"""Names and data structures that LeetCode's programs find in scope."""

import builtins
from collections import deque
from importlib import import_module
from types import ModuleType
from typing import Any

_STARRED = (
    *("typing", "functools", "collections", "itertools"),
    *("heapq", "bisect", "string", "operator", "math"),
)
_MODULES = (
    *(*_STARRED, "copy", "datetime", "json", "queue", "random", "re", "statistics", "sys"),
    "time",
)
_NAMES = {"copy": "deepcopy", "random": "randint", "sys": "maxsize"}
_MAX_NODES = 10**6

_prelude: dict[str, Any] = {}


class ListNode:
    """A node of a singly linked list."""

    def __init__(self, val: Any = 0, next: "ListNode | None" = None):
        self.val = val
        self.next = next


class TreeNode:
    """A node of a binary tree."""

    def __init__(
        self, val: Any = 0, left: "TreeNode | None" = None, right: "TreeNode | None" = None
    ):
        self.val = val
        self.left = left
        self.right = right


def prepare() -> None:
    """Collect the names, in the zygote."""
    for name in _STARRED:
        module = import_module(name)
        public = getattr(module, "__all__", [n for n in vars(module) if not n.startswith("_")])
        _prelude.update({n: getattr(module, n) for n in public})
    _prelude.update({name: import_module(name) for name in _MODULES})
    _prelude.update({name: getattr(_prelude[module], name) for module, name in _NAMES.items()})
    _prelude.update(inf=float("inf"), ListNode=ListNode, TreeNode=TreeNode)
    for name in vars(builtins):  # math's pow, operator's abs and the like must not hide these
        _prelude.pop(name, None)


def prelude() -> dict[str, Any]:
    """Return the names that are in scope of a program of the `function` kind."""
    return _prelude


def build(main: ModuleType, arguments: Any, types: Any) -> list[Any]:
    """Turn arguments whose declared type is ListNode or TreeNode from lists into nodes.

    The classes are the program's own where it defines them.
    """
    kinds = list(types) + [None] * (len(arguments) - len(types))
    return [_built(main, value, kind) for value, kind in zip(arguments, kinds, strict=True)]


def _built(main: ModuleType, value: Any, kind: str | None) -> Any:
    if kind == "ListNode":
        return _linked(main.__dict__["ListNode"], value)
    if kind == "TreeNode":
        return _tree(main.__dict__["TreeNode"], value)
    if kind == "ListNode[]":
        return [_linked(main.__dict__["ListNode"], item) for item in value]
    return value


def _linked(node_type: type[ListNode], items: Any) -> ListNode | None:
    head = None
    for item in reversed(items or []):
        node = node_type(item)
        node.next = head
        head = node
    return head


def _tree(node_type: type[TreeNode], items: Any) -> TreeNode | None:
    """Build from the level order, in which None stands for a missing child."""
    if not items:
        return None
    root = node_type(items[0])
    waiting = deque([root])
    rest = iter(items[1:])
    for left in rest:
        node = waiting.popleft()
        for side, value in (("left", left), ("right", next(rest, None))):
            if value is not None:
                child = node_type(value)
                setattr(node, side, child)
                waiting.append(child)
    return root


def flatten(value: Any, kind: str | None) -> Any:
    """Turn a result of declared type back into lists. Raises ValueError for an endless one."""
    if kind == "ListNode":
        return _list_of(value)
    if kind == "TreeNode":
        return _levels_of(value)
    if kind == "ListNode[]":
        return [_list_of(item) for item in value]
    return value


def _list_of(node: Any) -> list[Any]:
    items = []
    while node is not None:
        items.append(node.val)
        node = node.next
        if len(items) > _MAX_NODES:
            raise ValueError("the linked list does not end")
    return items


def _levels_of(root: Any) -> list[Any]:
    items: list[Any] = []
    waiting = deque([root])
    while waiting:
        node = waiting.popleft()
        items.append(None if node is None else node.val)
        if node is not None:
            waiting += (node.left, node.right)
        if len(items) > _MAX_NODES:
            raise ValueError("the tree does not end")
    while items and items[-1] is None:
        items.pop()
    return items
