"""A digest of what a function computes: the same however it is laid out, commented, documented, annotated, and whatever its variables are called.

Only functions that are named as a metric get one: what a repository measures by is part of its experiment.
"""

import ast
import hashlib
import re

_MOST_NODES = 5_000
_METRIC = re.compile(
    r"(?i)(?:^|_)(?:accuracy|acc|f1|bleu|rouge\w?|meteor|perplexity|ppl|metrics?|scores?|scorer|exact_match|precision|recall|auc|auroc|auprc|mrr|ndcg|iou|miou|giou|dice|psnr|ssim"
    r"|fid|wer|cer|mse|mae|rmse|is_correct|grade|grader|pass_at_k|win_rate|elo|success_rate|asr|confusion_matrix|r2|correlation|spearman|pearson|calibration|ece|bpb|bits_per_byte|edit_distance|levenshtein"
    r"|equivalent|is_equiv|extract_answer|normalize_answer|compute_metrics|get_score|answer_match|mean_average_precision|average_precision|top_?k_accuracy|hits_at_k|tpr|fpr)(?:_|$|\d)"
)
_SPOKEN = frozenset(
    "print log info debug warning warn error exception critical write set_description set_postfix".split()
)
_LEFT_OUT = frozenset(
    {"annotation", "returns", "type_comment", "decorator_list", "ctx", "type_params", "kind", "type_ignores"}
)


def metric_digest(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Sixteen hex digits for a function that is named as a metric; "" for any other, and for one of more than 5,000 nodes."""
    if not _METRIC.search(node.name) or "grad" in node.name:  # `acc_grad` accumulates
        return ""
    names = {argument: f"v{number}" for number, argument in enumerate(_local_names(node))}
    digest = hashlib.sha256()
    stack: list[object] = [node.args, *reversed(_spelt(node.body))]
    count = 0
    while stack:
        count += 1
        if count > _MOST_NODES:
            return ""
        digest.update(_step(stack.pop(), names, stack).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]


def _step(part: object, names: dict[str, str], stack: list[object]) -> str:
    """The text of one part; what stands inside it goes onto the stack."""
    if isinstance(part, ast.Name):
        return f"name {names.get(part.id, part.id)};"
    if isinstance(part, ast.arg):
        return f"arg {names.get(part.arg, part.arg)};"
    if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
        stack += [*reversed(_spelt(part.body)), part.args]
        return f"function {names.get(part.name, part.name)};"
    if isinstance(part, ast.AST):
        fields = [getattr(part, name, None) for name in part._fields if name not in _LEFT_OUT]
        stack += reversed(fields)
        return f"{type(part).__name__} {len(fields)};"
    if isinstance(part, list):
        spelt = _spelt(part)
        stack += reversed(spelt)
        return f"list {len(spelt)};"
    if isinstance(part, str):
        return f"word {part!r};"
    return (
        f"value {type(part).__name__} {str(part)[:200]};"
        if not isinstance(part, bytes)
        else f"bytes {part!r};"
    )


def _spelt(body: list[ast.stmt] | list[object]) -> list[object]:
    """Statements without document strings and without what only speaks to a reader of the log."""
    return [part for part in body if not (isinstance(part, ast.Expr) and _says_nothing(part.value))]


def _says_nothing(value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return True
    if not isinstance(value, ast.Call):
        return False
    name = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
    return name in _SPOKEN


def _local_names(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Parameters and variables of the function and of those in it, in the order in which they are met."""
    found: dict[str, None] = {}
    for part in _in_order(node):
        if isinstance(part, ast.arg):
            found.setdefault(part.arg)
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            found.setdefault(part.id)
        elif isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)) and part is not node:
            found.setdefault(part.name)
    return list(found)


def _in_order(node: ast.AST) -> list[ast.AST]:
    order: list[ast.AST] = []
    stack: list[ast.AST] = [node]
    while stack and len(order) <= _MOST_NODES:
        part = stack.pop()
        order.append(part)
        stack += reversed(list(ast.iter_child_nodes(part)))
    return order
