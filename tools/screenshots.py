"""Pictures for the documentation: the comment on a pull request and the HTML report, as a browser shows them.

python tools/screenshots.py [CHROMIUM]

Needs requirements/e2e.lock and a Chromium (the argument, or the one on the PATH). The comment is the golden rendering of the
end-to-end tests; GitHub's look is imitated, its renderer is not here.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from markdown_it import MarkdownIt
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
COMMENT = ROOT / "tests" / "e2e" / "golden" / "pull_request.comment.md"
EXAMPLE = ROOT / "examples" / "tiny-trainer"
DOCS = ROOT / "docs"

STYLE = """
body { margin: 0; padding: 20px; background: #fff; color: #1f2328;
  font: 14px/1.5 -apple-system, BlinkMacSystemFont, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif, "Noto Color Emoji"; }
.comment { border: 1px solid #d1d9e0; border-radius: 6px; max-width: 860px; }
.head { padding: 8px 16px; background: #f6f8fa; border-bottom: 1px solid #d1d9e0; border-radius: 6px 6px 0 0; color: #59636e; }
.head b { color: #1f2328; }
.head span { border: 1px solid #d1d9e0; border-radius: 2em; padding: 0 7px; font-size: 12px; margin-left: 4px; }
.body { padding: 16px; }
.body > :first-child { margin-top: 0; } .body > :last-child { margin-bottom: 0; }
h1, h2 { border-bottom: 1px solid #d1d9e0b3; padding-bottom: .3em; } h2 { font-size: 1.5em; } h3 { font-size: 1.25em; } h4 { font-size: 1em; }
h1, h2, h3, h4 { margin: 24px 0 16px; font-weight: 600; line-height: 1.25; }
p, ul, ol, table, details, pre, blockquote { margin: 0 0 16px; }
a { color: #0969da; text-decoration: none; }
code { background: #818b981f; border-radius: 6px; padding: .2em .4em; font: 85% ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
pre { background: #f6f8fa; border-radius: 6px; padding: 16px; overflow: auto; } pre code { background: none; padding: 0; }
table { border-collapse: collapse; display: block; width: max-content; max-width: 100%; overflow: auto; }
th, td { border: 1px solid #d1d9e0; padding: 6px 13px; } th { font-weight: 600; } tr:nth-child(2n) { background: #f6f8fa; }
blockquote { border-left: .25em solid #d1d9e0; color: #59636e; padding: 0 1em; }
summary { cursor: pointer; } sub { font-size: 75%; } hr { border: 0; height: .25em; background: #d1d9e0; margin: 24px 0; }
"""


def comment_page(markdown: str) -> str:
    """A comment of the actions' bot, as its page shows it."""
    body = MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(markdown)
    head = '<div class="head"><b>github-actions</b> <span>bot</span> commented 2 minutes ago</div>'
    return (
        f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>"
        f'<div class="comment">{head}<div class="body">{body}</div></div>'
    )


def shoot(
    browser: Browser, html: str, into: Path, *, width: int, selector: str | None = None, height: int = 0
) -> None:
    """A picture of a page, of the part that `selector` names, or of its first `height` pixels."""
    page = browser.new_page(viewport={"width": width, "height": height or 800}, device_scale_factor=1.5)
    page.set_content(html, wait_until="load")
    if selector:
        page.locator(selector).screenshot(path=into)
    else:
        page.screenshot(path=into, full_page=not height)
    page.close()


def report_of_the_example() -> str:
    """The report on the bundled example, as a repository of its own."""
    with tempfile.TemporaryDirectory() as folder:
        repository, file = Path(folder) / EXAMPLE.name, Path(folder) / "report.html"
        shutil.copytree(EXAMPLE, repository)
        settings = ["-c", "user.name=ml-audit", "-c", "user.email=ml-audit@example.org"]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "Example"]):
            subprocess.run(["git", *settings, *words], cwd=repository, check=True)
        command = [
            sys.executable,
            "-m",
            "audit",
            "audit",
            repository,
            "--fail-on",
            "never",
            "--quiet",
            "--format",
            "html",
        ]
        subprocess.run([*command, "--output", file], check=True, cwd=ROOT)
        return file.read_text("utf-8")


def main() -> None:
    chromium = sys.argv[1] if sys.argv[1:] else shutil.which("chromium") or shutil.which("google-chrome")
    if not chromium:
        raise SystemExit("There is no Chromium: install one, or name its program.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        shoot(
            browser,
            comment_page(COMMENT.read_text("utf-8")),
            DOCS / "comment.png",
            width=900,
            selector=".comment",
        )
        shoot(browser, report_of_the_example(), DOCS / "report.png", width=1100, height=1400)
        browser.close()


if __name__ == "__main__":
    main()
