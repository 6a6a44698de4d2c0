"""Functions of TVM that make calls of Relay's operators, read from its C++.

Each sets attributes from its parameters and returns a call, or calls another one that does::

    Expr MakeTopK(Expr data, int k, int axis) {
      auto attrs = make_object<TopKAttrs>();
      attrs->k = k;
      static const Op& op = Op::Get("topk");
      return Call(op, {data}, Attrs(attrs), {});
    }
    TVM_REGISTER_GLOBAL("relay.op._make.topk").set_body_typed(MakeTopK);
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_MACRO = re.compile(r"#define (\w+)\((\w+)\)((?:[^\n]*\\\n)*[^\n]*)")
_REGISTERED = re.compile(r'TVM_REGISTER_GLOBAL\("([\w.]+)"\)\s*\.set_body_typed\(\s*')
_FUNCTION = re.compile(r"\bExpr (\w+)(?=\()")
_STATEMENT = re.compile(
    r"(?:if \((?:(?P<given>\w+)\.defined\(\)|(?P<cast>const auto\*)[^{]*)\) \{\s*)?"
    r"(?:\w+->(?P<attr>\w+) = (?P<value>[^;]+)"
    r"|(?:static )?const Op& (?P<op>\w+) = (?P<name>Op::Get[^;]+)"
    r"|return (?P<callee>\w+)(?:<\w+>)?(?P<args>\([^;]+));"
)


class Made(NamedTuple):
    """A call of an operator."""

    name: str
    args: list[Any]
    attrs: dict[str, Any]


class Maker(NamedTuple):
    """A function of C++, with those of its file by name."""

    params: list[str]
    body: str
    beside: dict[str, Maker]


class UnreadableError(NotImplementedError):
    """A function does something else than making a call."""


class Makers:
    """The functions that a checkout registers.

    Parameters
    ----------
    checkout : Path
    """

    def __init__(self, checkout: Path) -> None:
        folders = (checkout / "src/relay/op", checkout / "src/relay/qnn/op")
        paths = [path for folder in folders for path in sorted(folder.rglob("*.[ch]*"))]
        paths.insert(0, checkout / "src/relay/transforms/pattern_utils.h")
        texts = [_COMMENT.sub("", path.read_text()) for path in paths]
        macros = [
            macro
            for text in texts
            for macro in _MACRO.findall(text)
            if "TVM_REGISTER_GLOBAL" in macro[2]
        ]
        self._functions: dict[str, Maker] = {}
        self._registered: dict[str, Maker] = {}
        for text in texts:
            self._read(text + _expanded(text, macros))

    def _read(self, text: str) -> None:
        """Read a file."""
        beside: dict[str, Maker] = {}
        for match in _FUNCTION.finditer(text):
            maker = _maker(text, match.end(), beside)
            if maker is not None:
                beside[match[1]] = maker
        self._functions = {**beside, **self._functions}
        named = {**self._functions, **beside}
        for match in _REGISTERED.finditer(text):
            is_lambda = text[match.end()] == "["
            maker = (
                _maker(text, text.index("(", match.end()), beside)
                if is_lambda
                else named.get(re.split(r"\W", text[match.end() :], maxsplit=1)[0])
            )
            if maker is not None:
                self._registered[match[1]] = maker

    def __contains__(self, name: str) -> bool:
        return name in self._registered

    def __call__(self, name: str, args: Sequence[Any]) -> Made:
        """Return the call that a function makes of arguments."""
        return self._run(self._registered[name], args)

    def _run(self, maker: Maker, args: Sequence[Any]) -> Made:
        if len(args) > len(maker.params):
            raise TypeError(f"expected arguments {maker.params}, but got {len(args)}")
        names: dict[str, Any] = dict.fromkeys(maker.params)
        names.update(zip(maker.params, args, strict=False))
        attrs: dict[str, Any] = {}
        for one in _STATEMENT.finditer(maker.body):
            if one["cast"] or (one["given"] and names[one["given"]] is None):
                continue
            if one["attr"]:
                attrs[one["attr"]] = _value(one["value"], names)
            elif one["op"]:
                names[one["op"]] = _value(one["name"], names)
            else:
                values = [_value(part, names) for part in _parts(one["args"])]
                if one["callee"] == "Call":
                    return Made(str(values[0]), values[1], attrs)
                callee = maker.beside.get(one["callee"]) or self._functions.get(one["callee"])
                if callee is not None:
                    return self._run(callee, values)
        raise UnreadableError(f"cannot read {maker.body}")


def _expanded(text: str, macros: Sequence[tuple[str, str, str]]) -> str:
    """Return what the macros that register functions stand for where a text uses them."""
    expanded = ""
    for name, param, body in macros:
        for used in re.findall(rf'^\s*{name}\(("[\w.]+")\)', text, re.MULTILINE):
            one = re.sub(rf"\b{param}\b", used, body.replace("\\\n", "\n"))
            expanded += "\n" + re.sub(r'"\s+"', "", one)
    return expanded


def _maker(text: str, begin: int, beside: dict[str, Maker]) -> Maker | None:
    """Return the function whose parameters begin at a place; None where it is only declared."""
    params = _bracketed(text, begin)
    rest = begin + len(params)
    body = re.compile(r"\s*\{").match(text, rest)
    if body is None:
        return None
    names = [re.split(r"[ &]", part.split("=")[0].strip())[-1] for part in _parts(params)]
    return Maker(names, _bracketed(text, body.end() - 1), beside)


def _bracketed(text: str, begin: int) -> str:
    """Return what stands from an opening bracket to the one that closes it."""
    depth = 0
    for end in range(begin, len(text)):
        depth += (text[end] in "([{") - (text[end] in ")]}")
        if depth == 0:
            return text[begin : end + 1]
    return text[begin:]


@functools.cache
def _parts(bracketed: str) -> list[str]:
    """Return what commas separate within brackets."""
    parts, depth, begin = [], 0, 1
    for i, char in enumerate(bracketed[1:-1], 1):
        depth += (char in "([{<") - (char in ")]}>")
        if char == "," and depth == 0:
            parts.append(bracketed[begin:i].strip())
            begin = i + 1
    last = bracketed[begin:-1].strip()
    return [*parts, last] if last else parts


def _value(text: str, names: dict[str, Any]) -> Any:
    """Return the value of an expression of C++."""
    text = re.sub(r"\s+", " ", text.strip())
    if text in names:
        return names[text]
    if text.startswith("{"):
        return [_value(part, names) for part in _parts(text)]
    if text.startswith('"'):
        return "".join(re.findall(r'"([^"]*)"', text))
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"-?[\d.]+f?", text):
        return float(text.rstrip("f")) if "." in text else int(text)
    if re.match(r"Attrs\b|NullValue<|Attrs\{", text):
        return None
    if used := re.fullmatch(r"(\w+)\.value\(\)", text):
        return names[used[1]]
    if wrapped := re.match(r"[\w:]+(?:<[\w:<>]+>)?(?=\()", text):
        inner = _parts(text[wrapped.end() :])
        if len(inner) == 1 and wrapped.end() + len(_bracketed(text, wrapped.end())) == len(text):
            return _value(inner[0], names)
    raise UnreadableError(f"cannot read {text}")
