"""Everything that a run says: check run, comment, suggestions, annotations in the log, job summary, in that order.

Nothing here decides: the gate was computed before, and no failure to present changes it or raises. What one channel cannot carry, the next
one does (check run, comment, summary, log), and one sentence says which permission was missing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from audit.assess.drift_gate import worst
from audit.assess.gate import Gate
from audit.documents.drift import Drift
from audit.documents.report import Report
from audit.documents.verdict import Category, Verdict
from audit.github.check import Check, CheckText, Conclusion
from audit.github.client import Client
from audit.github.destination import CommentMode, Destination, Effects, Published, Wishes
from audit.github.errors import ApiError, Trouble, sentences
from audit.github.identity import Identity
from audit.github.overriding import Drawing, read_overrides
from audit.github.review import PERMISSION as REVIEW_PERMISSION
from audit.github.review import suggest
from audit.github.sticky import Commented, Outcome, moved_on, room, write_comment
from audit.report import comment, summary, trouble, view
from audit.report.annotations import Annotations, annotations, told
from audit.report.fitting import utf8_bytes, utf16_units
from audit.report.links import Links
from audit.report.story import Story, counts_line, headline, score_line
from audit.report.trouble import AuditTrouble
from audit.report.verdict import comment as failure
from audit.report.verdict.view import headline as verdict_headline
from audit.report.workflow import annotation_lines
from audit.safety.sanitize import basic_plane, command, log_line, log_quote, markdown_prose, terminal

COMMENT_PERMISSION = "pull-requests: write"
_CHECK_SUMMARY = 2_000


class _Publication:
    """One run's channels, and what went wrong with them."""

    def __init__(
        self, destination: Destination, wishes: Wishes, effects: Effects, check: Check | None
    ) -> None:
        self.destination = destination
        self.wishes = wishes
        self.effects = effects
        self.check = check
        self.client = Client(destination, effects)
        self.identity = Identity(self.client)
        self.troubles: list[Trouble] = []
        self.comment_url = ""
        self.review_url = ""
        self.outdated: bool | None = None  # None: not looked yet
        if check is not None and check.trouble is not None:
            self.troubles.append(check.trouble)

    @contextmanager
    def attempt(self, what: str, permission: str = "", done: str = "written") -> Iterator[None]:
        """One channel: whatever goes wrong in it is told, and the next one follows."""
        try:
            yield
        except ApiError as error:
            self.troubles.append(Trouble(what, permission, error, done=done))
        except Exception as error:  # presentation never fails a run, not even by a fault of ours
            self.troubles.append(
                Trouble(what, why=f"A fault of ml-audit ({type(error).__name__}); please report it.")
            )

    def warnings(self) -> tuple[str, ...]:
        return sentences(self.troubles)

    def finish(self) -> Published:
        """Tells the troubles in the log, where they become annotations of the run."""
        self.client.close()
        warnings = self.warnings()
        expected = self.wishes.why_not
        for warning in warnings:
            level = "notice" if expected and warning.endswith(expected) else "warning"
            self.effects.say(command(level, warning, {"title": "ml-audit"}, 4_000))
        url = self.check.url if self.check is not None else ""
        return Published(self.comment_url, url, self.review_url, warnings)


def publish(
    report: Report,
    gate: Gate,
    destination: Destination,
    wishes: Wishes,
    effects: Effects,
    *,
    rules: view.Rules,
    drift: Drift | None = None,
    check: Check | None = None,
) -> Published:
    """Says `report`, `drift` and `gate` wherever `wishes` want it. `check`: what `open_check` gave. Never raises for a failed presentation."""
    story = Story(report, gate, rules, links_of(report, destination), wishes.remark, drift)
    work = _Publication(destination, wishes, effects, check)
    drawing = Drawing({}, effects.now)
    with work.attempt("the repository's own template", "contents: read", "used"):
        drawing = Drawing(read_overrides(work.client, destination), effects.now)
    _check(work, story, drawing)
    _comment(
        work, lambda budget: comment.render(story, budget=budget, draw=drawing), _is_wanted(story, wishes)
    )
    _suggestions(work, story)
    _log(work, story)
    work.troubles += [
        Trouble(f"the repository's template {name}", why=why, done="used")
        for name, why in drawing.failures.items()
    ]
    _summary(work, lambda budget: summary.render(story, remarks=work.warnings(), budget=budget, draw=drawing))
    return work.finish()


def publish_trouble(
    problem: AuditTrouble,
    destination: Destination,
    wishes: Wishes,
    effects: Effects,
    *,
    check: Check | None = None,
) -> Published:
    """Says that the audit could not be done, so that no earlier answer stands as if it were this commit's. Never raises."""
    work = _Publication(destination, wishes, effects, check)
    text = trouble.render(problem, commit=destination.head_sha, run_url=destination.run_url)
    if check is not None and check.is_open:
        with work.attempt("the check run's conclusion", "checks: write"):
            conclusion = Conclusion.FAILURE if problem.fails else Conclusion.NEUTRAL
            check.complete(work.client, conclusion, CheckText(problem.headline, text))
    _comment(work, lambda _: text, wishes.comment is CommentMode.ALWAYS)
    _summary(work, lambda _: text)
    return work.finish()


def publish_verdict(
    verdict: Verdict,
    passed: bool,
    destination: Destination,
    wishes: Wishes,
    effects: Effects,
    *,
    check: Check | None = None,
) -> Published:
    """Says why a run failed. `passed`: whether the job goes on, as `fail-on-verdict` decided. Never raises for a failed presentation."""
    work = _Publication(destination, wishes, effects, check)

    def text(fits: Callable[[str], bool]) -> str:
        return failure.render(verdict, passed, fits, commit=destination.head_sha, run_url=destination.run_url)

    if check is not None and check.is_open:
        with work.attempt("the check run's conclusion", "checks: write"):
            whole = text(lambda drawn: len(basic_plane(drawn)) <= comment.MAX_COMMENT)
            conclusion = Conclusion.SUCCESS if passed else Conclusion.FAILURE
            summary_text = markdown_prose(verdict.recommendation, _CHECK_SUMMARY) or "No recommendation."
            check.complete(work.client, conclusion, CheckText(verdict_headline(verdict), summary_text, whole))
    wanted = wishes.comment is CommentMode.ALWAYS or verdict.category is not Category.PASSED
    _comment(work, lambda budget: text(lambda drawn: utf16_units(drawn) <= budget), wanted)
    with work.attempt("the log"):
        effects.say(log_line(terminal(f"ml-audit: {verdict_headline(verdict)}")))
        if verdict.cause is not None:
            effects.say(log_quote(terminal(verdict.cause.text, 1_000), effects.nonce()))
    _summary(work, lambda budget: text(lambda drawn: utf8_bytes(drawn) <= budget))
    return work.finish()


def links_of(report: Report, destination: Destination) -> Links | None:
    """Where the audited commit's pages lie; None where it has none. The audited repository need not be the running one."""
    if report.commit is None or report.repository.count("/") != 1:
        return None
    own = report.repository.lower() == destination.repository.lower()
    prefix = destination.path_prefix if own else ""
    return Links(destination.server_url, report.repository, report.commit, prefix, destination.run_url)


def _check(work: _Publication, story: Story, drawing: Drawing) -> None:
    check = work.check
    if check is None or not check.is_open:
        return
    sent = 0
    conclusion = Conclusion.SUCCESS if story.gate.passed else Conclusion.FAILURE
    with work.attempt("the check run's conclusion", "checks: write"):
        marks = annotations(story, work.wishes.annotations)
        sent = len(marks.shown)
        text = CheckText(
            headline(story), _check_summary(story, marks), comment.render_check(story, draw=drawing)
        )
        check.complete(work.client, conclusion, text, marks.shown)
    if check.is_open:  # its text could not be drawn: the decision stands all the same
        with work.attempt("the check run's conclusion", "checks: write"):
            said = "Passed" if story.gate.passed else "Blocked"
            check.complete(work.client, conclusion, CheckText(said, f"{said}. The job's log tells more."))
    if check.trouble is not None:
        work.troubles.append(check.trouble)
    elif check.refused and check.is_complete:
        why = f"GitHub did not take {check.refused} of {sent} annotations; they are in the summary."
        work.troubles.append(Trouble("a part of the annotations", why=why))


def _check_summary(story: Story, marks: Annotations) -> str:
    """Score and counts, and what is not annotated."""
    lines = [score_line(story.report), counts_line(story)]
    if marks.dropped:
        lines.append(f"{marks.dropped} findings more are not annotated: at most {len(marks.shown)} are.")
    if marks.placeless:
        lines.append(f"{marks.placeless} findings stand in no line that can be annotated.")
    return "\n\n".join(markdown_prose(line, _CHECK_SUMMARY) for line in lines)


def _is_wanted(story: Story, wishes: Wishes) -> bool:
    """Whether the comment is to be created where there is none; one that is there is always kept up to date."""
    counts = story.report.summary
    failing = counts.critical + counts.warning + counts.info > 0
    match wishes.comment:
        case CommentMode.ALWAYS:
            return True
        case CommentMode.FINDINGS:
            return failing
        case CommentMode.CHANGES:
            if counts.new is None:
                return failing
            moved = story.drift is not None and worst(story.drift) is not None
            return bool(counts.new or counts.fixed or moved) or not story.gate.passed
        case CommentMode.OFF:
            return False


def _comment(work: _Publication, draw: Callable[[int], str], create: bool) -> None:
    destination, wishes = work.destination, work.wishes
    if wishes.comment is CommentMode.OFF or destination.pull_number is None:
        return
    if not wishes.may_comment:
        work.troubles.append(Trouble("the comment", COMMENT_PERMISSION, why=wishes.why_not))
        return
    with work.attempt("the comment", COMMENT_PERMISSION):
        body = draw(room(destination, comment.MAX_COMMENT))
        done = write_comment(work.client, work.identity, destination, body, create=create)
        work.comment_url = done.url
        work.outdated = done.outcome is Outcome.OUTDATED
        work.effects.say(log_line(terminal(_told(done))))


_OUTCOMES = {
    Outcome.CREATED: "The comment was written.",
    Outcome.UPDATED: "The comment was brought up to date.",
    Outcome.UNCHANGED: "The comment says all this already.",
    Outcome.NOT_WANTED: "No comment: there is nothing to tell, as the input comment asks.",
    Outcome.OUTDATED: "No comment: the pull request has a newer commit or a newer run.",
}


def _told(done: Commented) -> str:
    return f"{_OUTCOMES[done.outcome]} {done.url}".rstrip()


def _suggestions(work: _Publication, story: Story) -> None:
    if not work.wishes.suggestions or work.destination.pull_number is None or not work.wishes.may_comment:
        return
    with work.attempt("the suggestions", REVIEW_PERMISSION):
        if moved_on(work.client, work.destination) if work.outdated is None else work.outdated:
            return
        done = suggest(work.client, work.identity, work.destination, story)
        work.review_url = done.url
        if done.written or done.resolved:
            work.effects.say(f"{done.written} suggestions written, {done.resolved} put aside as mended.")


def _log(work: _Publication, story: Story) -> None:
    """The last channel: what every run says in its log; annotations only where no check run carries them."""
    with work.attempt("the log"):
        check, most = work.check, work.wishes.annotations
        if check is None or not check.is_complete or check.trouble is not None:
            findings, prefix = told(story), work.destination.path_prefix
            for line in annotation_lines(findings, story.rules, prefix=prefix, most=most):
                work.effects.say(line)
        for said in (headline(story), score_line(story.report), counts_line(story)):
            work.effects.say(log_line(terminal(f"ml-audit: {said}")))


def _summary(work: _Publication, draw: Callable[[int], str]) -> None:
    path = work.wishes.summary
    if path is None:
        return
    with work.attempt("the job summary"):
        try:
            there = path.stat().st_size if path.exists() else 0
            text = draw(summary.MAX_SUMMARY - there)
            if there + utf8_bytes(text) > summary.MAX_SUMMARY:
                work.troubles.append(Trouble("the job summary", why="The file is full already."))
                return
            with path.open("ab") as file:
                file.write(text.encode())
        except OSError as error:
            why = f"The file that GITHUB_STEP_SUMMARY names cannot be written: {error.strerror}."
            work.troubles.append(Trouble("the job summary", why=why))
