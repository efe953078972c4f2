"""The call graph: what running a script reaches, across the repository's own modules.

Names are resolved statically. A method on a receiver of unknown type is followed into every class that has been
instantiated or referred to on the way (rapid type analysis); what a library will call back (methods of a class with a base from
outside, dunder methods) is followed as soon as the class is live.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from audit.facts.python.model import Assign, Call, PythonFacts
from audit.signals.modules import ModuleIndex

Node = tuple[str, int]
_PLAIN_BASES = frozenset(
    {
        "object",
        "abc.ABC",
        "ABC",
        "Exception",
        "ValueError",
        "typing.NamedTuple",
        "NamedTuple",
        "enum.Enum",
        "Enum",
        "dict",
        "list",
        "str",
        "int",
    }
)
_FAMILY = 60
_HOOKS = frozenset({"forward", "call", "setup", "run", "main"})
_LOADERS = frozenset(
    {
        "import_module",
        "getattr",
        "globals",
        "eval",
        "__import__",
        "instantiate",
        "instantiate_from_config",
        "run",
    }
)


class Edges(msgspec.Struct, frozen=True):
    """What one scope leads to: functions, classes, method names on unknown receivers, and modules that run first."""

    functions: tuple[Node, ...]
    classes: tuple[Node, ...]
    methods: frozenset[str]
    modules: tuple[Node, ...]


class ClassInfo(msgspec.Struct):
    """A class: its methods by name, bases inside the repository, whether another base comes from outside, and the methods that
    Python or a framework calls by itself."""

    methods: dict[str, Node]
    bases: tuple[Node, ...]
    foreign: bool
    hooks: frozenset[str]


class _File:
    """Names that one file defines at its top level, and its scopes' children."""

    def __init__(self, facts: PythonFacts) -> None:
        self.defined: dict[str, int] = {}
        self.inner: dict[int, dict[str, int]] = defaultdict(dict)
        self.names: set[str] = set()
        self.imported: dict[str, str] = {}
        self.stars: list[str] = []
        self.by_scope: dict[int, list[str]] = defaultdict(list)
        for index, scope in enumerate(facts.scopes):
            if scope.kind in ("class", "function") and scope.parent >= 0:
                self.inner[scope.parent][scope.name] = index
                self.names.add(scope.name)
                if facts.scopes[scope.parent].kind in ("module", "main"):
                    self.defined[scope.name] = index
        for item in facts.imports:
            full = (
                item.module
                if not item.name
                else f"{item.module}{'' if item.module.endswith('.') else '.'}{item.name}"
            )
            if item.name == "*":
                self.stars.append(item.module)
            else:
                self.imported[item.alias] = full
            self.by_scope[item.scope].append(item.module if item.name == "*" else full)


class CallGraph:
    """Edges are resolved when first needed and kept. `targets`: dotted names in configuration that code instantiates."""

    def __init__(self, python: Mapping[str, PythonFacts], targets: Iterable[str] = ()) -> None:
        self.python = python
        self.modules = ModuleIndex(python)
        self._files: dict[str, _File] = {}
        self._edges: dict[Node, Edges] = {}
        self._classes: dict[Node, ClassInfo] = {}
        self._families: dict[Node, tuple[Node, ...]] = {}
        self._exports: dict[tuple[str, str], Node | None] = {}
        self._targets = tuple(sorted(set(targets)))
        self._loader_calls: dict[Node, list[Call]] = defaultdict(list)
        for path, facts in python.items():
            for call in facts.calls:
                if call.name.rpartition(".")[2] in _LOADERS:
                    self._loader_calls[path, call.scope].append(call)

    # Reaching -------------------------------------------------------------------------------------------------

    def reach(self, starts: Iterable[Node]) -> frozenset[Node]:
        """Every scope that can run once `starts` run."""
        return frozenset(self.walk(starts))

    def walk(self, starts: Iterable[Node]) -> Iterator[Node]:
        """The scopes that can run once `starts` run, the nearest first."""
        seen: set[Node] = set()
        live: set[Node] = set()
        called: set[str] = set()
        waiting: dict[str, list[Node]] = defaultdict(list)
        queue = deque(starts)

        def activate(node: Node) -> None:
            family = self.family(node)
            outside = any(self.class_info(each).foreign for each in family)
            for each in family:
                if each in live and not outside:
                    continue
                live.add(each)
                queue.append(each)
                info = self.class_info(each)
                for name, method in info.methods.items():
                    if outside or name in called or name in info.hooks:
                        queue.append(method)
                    else:
                        waiting[name].append(method)

        while queue:
            node = queue.popleft()
            if node in seen:
                continue
            seen.add(node)
            yield node
            edges = self.edges(node)
            queue.extend(edges.functions)
            for each in edges.classes:
                if each not in live:
                    activate(each)
            queue.extend(edges.modules)
            for name in edges.methods - called:
                called.add(name)
                queue.extend(waiting.pop(name, ()))

    # Resolving ------------------------------------------------------------------------------------------------

    def edges(self, node: Node) -> Edges:
        found = self._edges.get(node)
        if found is None:
            found = self._edges[node] = self._resolve_scope(node)
        return found

    def class_info(self, node: Node) -> ClassInfo:
        info = self._classes.get(node)
        if info is None:
            path, index = node
            scope = self.python[path].scopes[index]
            methods = {
                name: (path, child)
                for name, child in self._file(path).inner.get(index, {}).items()
                if self.python[path].scopes[child].kind == "function"
            }
            hooks = frozenset(name for name in methods if name in _HOOKS or name.startswith("__"))
            info = self._classes[node] = ClassInfo(methods, (), False, hooks)
            bases = [(base, self.lookup(base.partition("[")[0], path, scope.parent)) for base in scope.bases]
            info.bases = tuple(
                found for _, found in bases if found and found != node and self._kind(found) == "class"
            )
            info.foreign = any(
                found is None and base.partition("[")[0] not in _PLAIN_BASES for base, found in bases
            )
        return info

    def family(self, node: Node) -> tuple[Node, ...]:
        """The class and its bases inside the repository, nearest first."""
        found = self._families.get(node)
        if found is None:
            order = [node]
            for each in order:
                order += [base for base in self.class_info(each).bases if base not in order]
                if len(order) > _FAMILY:
                    break
            found = self._families[node] = tuple(order)
        return found

    def ancestry(self, node: Node) -> Iterator[str]:
        """Names of all bases, nearest first, those outside of the repository as full dotted names."""
        seen, queue = {node}, [node]
        while queue:
            path, index = current = queue.pop(0)
            for base in self.python[path].scopes[index].bases:
                yield base.partition("[")[0]
            for base_node in self.class_info(current).bases:
                if base_node not in seen:
                    seen.add(base_node)
                    queue.append(base_node)

    def lookup(self, name: str, path: str, scope: int = 0, depth: int = 0) -> Node | None:
        """The function or class of the repository that a (resolved) dotted name means in a scope of `path`."""
        if depth > 8:
            return None
        head, _, rest = name.partition(".")
        if head and path in self.python:
            local = self._local(head, path, scope)
            if local is not None:
                return self._member(local, rest) if rest else local
        module, remainder = self.modules.resolve(name, path)
        if module is None or not remainder:
            return None
        return self._exported(module, remainder, depth)

    def imported_modules(self, path: str) -> frozenset[str]:
        """The files of the repository that `path` imports anywhere in it."""
        names = {name for names in self._file(path).by_scope.values() for name in names}
        found = {self.modules.resolve(name, path)[0] for name in names}
        return frozenset(module for module in found if module is not None and module != path)

    def top_level(self, path: str) -> tuple[Node, ...]:
        """The functions and classes that a module defines at its top level."""
        return tuple((path, index) for index in self._file(path).defined.values())

    def _exported(self, module: str, name: str, depth: int) -> Node | None:
        key = (module, name)
        if key not in self._exports:
            self._exports[key] = None  # a cycle of imports ends here
            self._exports[key] = self._find_exported(module, name, depth)
        return self._exports[key]

    def _find_exported(self, module: str, name: str, depth: int) -> Node | None:
        file = self._file(module)
        head, _, rest = name.partition(".")
        if head in file.defined:
            node = (module, file.defined[head])
            return self._member(node, rest) if rest else node
        if head in file.imported:
            full = file.imported[head] + ("." + rest if rest else "")
            return self.lookup(full, module, 0, depth + 1)
        for star in file.stars:
            target, _ = self.modules.resolve(star, module)
            if (
                target
                and target != module
                and (found := self._exported(target, name, depth + 1) if depth < 8 else None)
            ):
                return found
        return None

    def _member(self, node: Node, name: str) -> Node | None:
        if self._kind(node) != "class":
            return node
        method = self._method(node, name.partition(".")[0], 0)
        return method or node

    def _method(self, node: Node, name: str, depth: int) -> Node | None:
        info = self.class_info(node)
        if name in info.methods:
            return info.methods[name]
        if depth < 8:
            for base in info.bases:
                if found := self._method(base, name, depth + 1):
                    return found
        return None

    def _local(self, name: str, path: str, scope: int) -> Node | None:
        """A definition visible from inside `scope`: nested functions first, then the module's."""
        file, scopes = self._file(path), self.python[path].scopes
        if name in file.names:
            while scope > 0:
                if scopes[scope].kind != "class" and name in file.inner.get(scope, ()):
                    return path, file.inner[scope][name]
                scope = scopes[scope].parent
        if name in file.defined:
            return path, file.defined[name]
        for star in file.stars:
            target, _ = self.modules.resolve(star, path)
            if target and target != path and (found := self._exported(target, name, 1)):
                return found
        return None

    def _resolve_scope(self, node: Node) -> Edges:
        path, index = node
        facts = self.python[path]
        scope = facts.scopes[index]
        functions: list[Node] = []
        classes: list[Node] = []
        methods: set[str] = set()
        for ref in scope.refs:
            if ref.startswith(("self.", "cls.", "super().")):
                self._own_method(ref, path, index, functions, methods)
            elif ref.startswith("?."):
                methods.add(ref.rpartition(".")[2])
            else:
                found = self.lookup(ref, path, index)
                if found is not None:
                    self._add(found, functions, classes)
                    owner = self.lookup(ref.rpartition(".")[0], path, index) if "." in ref else None
                    if owner is not None and self._kind(owner) == "class":
                        classes.append(owner)
                elif "." in ref:
                    methods.add(ref.rpartition(".")[2])
        if scope.kind == "module":
            classes += self._registered(path)
        for call in self._loader_calls.get(node, ()):
            self._dynamic(call, path, functions, classes)
        modules = [(module, 0) for module in self._imported_modules(path, index)]
        modules += [(path, 0)] if index else [(init, 0) for init in self.modules.package_files(path)]
        return Edges(
            tuple(dict.fromkeys(functions)), tuple(dict.fromkeys(classes)), frozenset(methods), tuple(modules)
        )

    def _add(self, node: Node, functions: list[Node], classes: list[Node]) -> None:
        path, index = node
        if self._kind(node) == "class":
            classes.append(node)
        else:
            functions.append(node)
            parent = self.python[path].scopes[index].parent
            if self.python[path].scopes[parent].kind == "class":
                classes.append((path, parent))

    def _own_method(self, ref: str, path: str, index: int, functions: list[Node], methods: set[str]) -> None:
        name = ref.partition(".")[2].partition(".")[0]
        methods.add(ref.rpartition(".")[2])
        owner = index
        scopes = self.python[path].scopes
        while owner > 0 and scopes[owner].kind != "class":
            owner = scopes[owner].parent
        if owner > 0 and (method := self._method((path, owner), name, 0)):
            functions.append(method)

    def _registered(self, path: str) -> list[Node]:
        """Definitions that a decorator enters into a registry when their module is imported."""
        return [
            (path, index)
            for index, scope in enumerate(self.python[path].scopes)
            if scope.kind == "class" and any("register" in name.lower() for name in scope.decorators)
        ]

    def _dynamic(self, call: Call, path: str, functions: list[Node], classes: list[Node]) -> None:
        """Lookups by name: everything that the name could mean."""
        last = call.name.rpartition(".")[2]
        found: list[Node] = []
        if last == "getattr" and call.args:
            module, rest = self.modules.resolve(call.args[0], path)
            if module and not rest:
                found += self.top_level(module)
                if module.endswith("__init__.py"):
                    found += [
                        n for name in self._file(module).imported.values() if (n := self.lookup(name, module))
                    ]
        elif call.name.endswith("app.run") and not call.args and "main" not in call.kwargs:
            # The runners of TensorFlow and absl call `main` without being given it.
            found += [node for node in (self.lookup("main", path),) if node]
        elif last in ("globals", "eval"):
            found += self.top_level(path)
        elif last in ("import_module", "__import__", "instantiate", "instantiate_from_config"):
            found += [n for target in self._targets if (n := self.lookup(target, path))]
        for node in found:
            self._add(node, functions, classes)

    def _imported_modules(self, path: str, index: int) -> tuple[str, ...]:
        found: list[str] = []
        for name in self._file(path).by_scope[index]:
            module, _ = self.modules.resolve(name, path)
            if module is not None and module != path:
                found.append(module)
        return tuple(dict.fromkeys(found))

    def _kind(self, node: Node) -> str:
        return self.python[node[0]].scopes[node[1]].kind

    def _file(self, path: str) -> _File:
        found = self._files.get(path)
        if found is None:
            found = self._files[path] = _File(self.python[path])
        return found


class Reached:
    """What a set of scopes says: its calls and assignments, in path order."""

    def __init__(self, python: Mapping[str, PythonFacts], nodes: frozenset[Node]) -> None:
        self.python = python
        self.nodes = nodes
        scopes: dict[str, set[int]] = defaultdict(set)
        for path, index in nodes:
            scopes[path].add(index)
        self.scopes = dict(sorted(scopes.items()))

    def calls(self) -> Iterator[tuple[str, Call]]:
        for path, indices in self.scopes.items():
            for call in self.python[path].calls:
                if call.scope in indices:
                    yield path, call

    def assigns(self) -> Iterator[tuple[str, Assign]]:
        for path, indices in self.scopes.items():
            for assign in self.python[path].assigns:
                if assign.scope in indices:
                    yield path, assign
