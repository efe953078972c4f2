"""The reader for Python that today's parser refuses: Python 2, newer syntax, templates, conflict markers.

tree-sitter finds a tree in anything; the facts are the same kind as `extract.py` makes, only coarser, and the file is marked
partial so that a reader knows.
"""

import re
from collections.abc import Iterator

from tree_sitter import Language, Node, Parser

from audit.facts.extracted import Extracted
from audit.facts.python.extract import ignores
from audit.facts.python.identities import identity_kind
from audit.facts.python.model import Assign, Call, Import, PythonFacts, Scope, Text
from audit.facts.python.vocabulary import (
    CALLS,
    CONFIG_RECEIVERS,
    ENDINGS,
    EXTERNAL,
    KEYWORDS,
    PREFIXES,
    ROOTS,
)

_MAX_RECORDS = 20_000
_MAX_NODES = 2_000_000
_SPACE = re.compile(r"\s+")
_CHAIN = re.compile(r"[A-Za-z_][\w]*(?:\s*\.\s*[A-Za-z_]\w*)*\Z")
_STRING = re.compile(r"[rRbBuUfF]{0,2}(\"\"\"|'''|\"|')(.*)\1\Z", re.S)


def extract_tolerantly(source: str, why: str) -> Extracted:
    """Facts from a tree with errors. `why` is what the regular parser said."""
    import tree_sitter_python

    data = source.encode("utf-8", "surrogatepass")
    tree = Parser(Language(tree_sitter_python.language())).parse(data)
    reader = _Reader(data)
    reader.run(tree.root_node)
    facts = PythonFacts(
        parser="tree_sitter",
        why=why,
        statements=1,
        imports=tuple(reader.imports),
        scopes=tuple(
            Scope(name, kind, parent, line, end, bases=bases, refs=tuple(sorted(refs)))
            for name, kind, parent, line, end, bases, refs in reader.scopes
        ),
        calls=tuple(reader.calls),
        assigns=tuple(reader.assigns),
        texts=tuple(reader.texts),
        attributes=tuple(sorted(reader.attributes)),
        ignores=ignores(source),
    )
    return Extracted(facts, f"read tolerantly, Python {'.'.join(map(str, _running()))} refuses it: {why}")


def _running() -> tuple[int, int]:
    import sys

    return sys.version_info[:2]


_ScopeRow = tuple[str, str, int, int, int, tuple[str, ...], set[str]]


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.aliases: dict[str, str] = {}
        self.imports: list[Import] = []
        self.scopes: list[_ScopeRow] = [("", "module", -1, 1, 0, (), set())]
        self.calls: list[Call] = []
        self.assigns: list[Assign] = []
        self.texts: list[Text] = []
        self.attributes: set[str] = set()

    def text(self, node: Node | None, limit: int = 200) -> str:
        """The node's source on one line, its root name resolved by the imports."""
        if node is None:
            return ""
        raw = self.data[node.start_byte : min(node.end_byte, node.start_byte + 4 * limit)].decode(
            "utf-8", "replace"
        )
        if node.type == "string" and (match := _STRING.match(raw)):
            return repr(match[2])[:limit]
        flat = _SPACE.sub(" ", raw).strip()
        root, dot, rest = flat.partition(".")
        flat = self.aliases.get(root, root) + dot + rest
        return flat if len(flat) <= limit else flat[: limit - 1] + "…"

    def run(self, root: Node) -> None:
        stack: list[tuple[Node, int, int]] = [(root, 0, 0)]
        seen = 0
        while stack:
            node, scope, loops = stack.pop()
            seen += 1
            if seen > _MAX_NODES:
                break
            inner, inner_loops = self.visit(node, scope, loops)
            for child in reversed(node.named_children):
                stack.append((child, inner, inner_loops))

    def visit(self, node: Node, scope: int, loops: int) -> tuple[int, int]:
        """Records what the node says; answers the scope and the loop depth of its children."""
        kind, line = node.type, node.start_point[0] + 1
        if kind in ("import_statement", "import_from_statement"):
            self.imported(node, scope, line)
        elif kind in ("function_definition", "class_definition"):
            name = self.text(node.child_by_field_name("name"), 80)
            bases = tuple(
                self.text(base, 80) for base in self.named(node.child_by_field_name("superclasses"))
            )
            label = "function" if kind == "function_definition" else "class"
            self.scopes.append((name, label, scope, line, node.end_point[0] + 1, bases, set()))
            return len(self.scopes) - 1, 0
        elif kind == "if_statement" and "__main__" in self.text(node.child_by_field_name("condition"), 80):
            self.scopes.append(("__main__", "main", scope, line, node.end_point[0] + 1, (), set()))
            return len(self.scopes) - 1, 0
        elif kind in ("for_statement", "while_statement"):
            return scope, loops + 1
        elif kind == "call":
            self.called(node, scope, loops, line)
        elif kind == "assignment":
            self.assigned(node, scope, line)
        elif kind == "string":
            self.string(node, scope, line)
        elif kind == "attribute":
            holder, member = node.child_by_field_name("object"), node.child_by_field_name("attribute")
            if self.text(holder, 60).rpartition(".")[2] in CONFIG_RECEIVERS:
                self.attributes.add(self.text(member, 60))
        elif kind == "identifier":
            self.refer(scope, self.text(node, 80))
        return scope, loops

    def named(self, node: Node | None) -> Iterator[Node]:
        yield from (node.named_children if node is not None else ())

    def refer(self, scope: int, name: str) -> None:
        if name.partition(".")[0] not in EXTERNAL and len(self.scopes[scope][6]) < 500:
            self.scopes[scope][6].add(name)

    def imported(self, node: Node, scope: int, line: int) -> None:
        module = self.raw(node.child_by_field_name("module_name"))
        for child in node.children_by_field_name("name"):
            name = (
                self.raw(child.child_by_field_name("name"))
                if child.type == "aliased_import"
                else self.raw(child)
            )
            alias = self.raw(child.child_by_field_name("alias")) if child.type == "aliased_import" else ""
            if node.type == "import_statement":
                self.aliases[alias or name.split(".")[0]] = name if alias else name.split(".")[0]
                self.imports.append(Import(name, "", alias or name, line, scope))
            else:
                self.aliases[alias or name] = (
                    f"{module}.{name}" if not module.endswith(".") else module + name
                )
                self.imports.append(Import(module, name, alias or name, line, scope))
        if any(child.type == "wildcard_import" for child in node.named_children):
            self.imports.append(Import(module, "*", "*", line, scope))

    def raw(self, node: Node | None) -> str:
        if node is None:
            return ""
        return _SPACE.sub(
            "",
            self.data[node.start_byte : min(node.end_byte, node.start_byte + 300)].decode("utf-8", "replace"),
        )

    def called(self, node: Node, scope: int, loops: int, line: int) -> None:
        name = self.text(node.child_by_field_name("function"), 160)
        if not _CHAIN.match(name):
            name = "?." + name.rpartition(".")[2] if "." in name else ""
        if not name or len(self.calls) >= _MAX_RECORDS:
            return
        self.refer(scope, name)
        args: list[str] = []
        words: dict[str, str] = {}
        for child in self.named(node.child_by_field_name("arguments")):
            if child.type == "keyword_argument":
                words[self.text(child.child_by_field_name("name"), 60)] = self.text(
                    child.child_by_field_name("value"), 120
                )
            elif child.type == "dictionary_splat":
                words["**"] = self.text(child, 120)
            elif child.type != "comment":
                args.append(self.text(child, 400 if child.type == "dictionary" else 120))
        last = name.rpartition(".")[2]
        wanted = (
            last in CALLS
            or last.endswith(ENDINGS)
            or name.partition(".")[0] in ROOTS
            or name.startswith(PREFIXES)
        )
        if wanted or KEYWORDS & words.keys():
            self.calls.append(Call(name, line, scope, tuple(args[:8]), words, loops, self.within(node)))

    def within(self, node: Node) -> str:
        parent = node.parent
        if parent is None:
            return "other"
        if parent.type == "assignment":
            return f"assign:{self.text(parent.child_by_field_name('left'), 80)}"
        if parent.type == "argument_list" and parent.parent is not None:
            return f"arg:{self.text(parent.parent.child_by_field_name('function'), 80).rpartition('.')[2]}"
        if parent.type in ("for_statement", "for_in_clause"):
            return "iter"
        return {"expression_statement": "expr", "return_statement": "return", "attribute": "attr"}.get(
            parent.type, "other"
        )

    def assigned(self, node: Node, scope: int, line: int) -> None:
        value = node.child_by_field_name("right")
        if value is None or len(self.assigns) >= _MAX_RECORDS:
            return
        plain = value.type in (
            "string",
            "integer",
            "float",
            "true",
            "false",
            "none",
            "unary_operator",
            "binary_operator",
        )
        target = self.text(node.child_by_field_name("left"), 100)
        if (
            plain
            or target.startswith(("torch.", "os.", "tensorflow."))
            or value.type in ("dictionary", "list", "tuple")
        ):
            self.assigns.append(Assign(target, self.text(value, 300), line, scope))

    def string(self, node: Node, scope: int, line: int) -> None:
        match = _STRING.match(
            self.data[node.start_byte : min(node.end_byte, node.start_byte + 600)].decode("utf-8", "replace")
        )
        kind = identity_kind(match[2]) if match else ""
        if match and kind and len(self.texts) < _MAX_RECORDS:
            self.texts.append(Text(kind, match[2], line, scope, self.within(node)))
