"""The structural marks: which lines belong to the skeleton of a log, whatever failed.

A mark is tried like a signature, on the cleaned line. `sparse` marks are looked for in all of a log, and keep their surroundings; the others
only say what a kept line is.
"""

from typing import NamedTuple

from audit.failure.model import Kind


class Mark(NamedTuple):
    """`pattern` in the syntax of signatures."""

    kind: Kind
    pattern: str
    sparse: bool = True


_EXCEPTION = r"([A-Za-z_]\w*\.)*[A-Z]\w*(Error|Exception|Interrupt|Exit|Failure|Timeout|Unsupported|Warning|ExceptionGroup)"

MARKS = (
    # Steps and phases: GitHub Actions and Azure, GitLab, Jenkins, Buildkite, tox and nox.
    Mark(Kind.STEP, r"^##\[(group|section)\]"),
    Mark(Kind.STEP, r"^##\[endgroup\]", sparse=False),
    Mark(Kind.STEP, r"^(Post job cleanup\.|Complete job name: |Cleaning up orphan processes|Post Run )"),
    Mark(Kind.STEP, r"section_(start|end):\d+:"),
    Mark(
        Kind.STEP,
        r"^(Executing \"\w+\" stage|Running (before|after)_script|Job succeeded|ERROR: Job failed|Uploading artifacts)",
    ),
    Mark(Kind.STEP, r"^\[Pipeline\] |^Finished: (SUCCESS|FAILURE|ABORTED|UNSTABLE|NOT_BUILT)"),
    Mark(Kind.STEP, r"^(~~~|\+\+\+ :|--- :|\^\^\^ \+\+\+)", sparse=False),
    Mark(Kind.STEP, r"^nox > (Running session|Session )|^(congratulations|evaluation failed) :[()]"),
    Mark(Kind.COMMAND, r"^##\[group\]Run |^\[command\]|^##\[command\]"),
    Mark(Kind.COMMAND, r"^(\$|\++) [\w./$\"'(-]", sparse=False),
    Mark(Kind.ERROR, r"^##\[error\]|^::error"),
    Mark(
        Kind.ERROR,
        r"^\[?(ERROR|FATAL|CRITICAL|Error|fatal|error)\b\]?[: ]|(\[| - | |:)(ERROR|CRITICAL|FATAL)[]: -]",
    ),
    # Ends of processes.
    Mark(
        Kind.EXIT,
        r"[Ee]xit(ed)?( with)?( exit)? (code|status):?( =)? ?-?\d|exit_?[Cc](ode)?[ =:]+-?\d|EXIT_CODE=-?\d",
    ),
    Mark(
        Kind.EXIT,
        r"returned non-zero exit|script returned exit code|(exited|died|terminated|killed) (with|by) (signal|code)",
    ),
    Mark(
        Kind.EXIT,
        r"\bSIG(KILL|TERM|SEGV|ABRT|BUS|INT|HUP|FPE|ILL|IOT)\b|core dumped|sending signal \w+ to command",
    ),
    Mark(
        Kind.EXIT,
        r"\bKilled\b|\bTerminated\b|Segmentation fault|Bus error|\bAborted\b|The operation was cancel",
    ),
    # Python's own words.
    Mark(Kind.TRACEBACK, r"Traceback \(most recent call last\)|Original Traceback"),
    Mark(Kind.TRACEBACK, r"^[ |]*File \"[^\"]+\", line \d+", sparse=False),
    Mark(Kind.TRACEBACK, r"During handling of the above exception|The above exception was the direct cause"),
    Mark(Kind.TRACEBACK, r"^[ |]*\+-+[ +]*(\d+ )?-{3,}", sparse=False),
    Mark(Kind.TRACEBACK, r"^-- Process \d+ terminated"),
    Mark(Kind.EXCEPTION, rf"^[ |]*(E +)?{_EXCEPTION}\b(:|$| \()"),
    Mark(Kind.EXCEPTION, r"^[ |]*(E +)?([a-z_]\w*\.)+[A-Z]\w+: ", sparse=False),
    # Test runners: pytest with xdist, unittest, ctest, bazel, googletest, cargo, go.
    Mark(Kind.TEST, r"^={3,} .+ ={3,}$|^_{3,} .+ _{3,}$|^-{4,} (Captured|generated|live)"),
    Mark(Kind.TEST, r"^E   |^E$|^>   ", sparse=False),
    Mark(Kind.TEST, r"^[\w./\\-]+\.\w{1,5}:\d+: (\w*(Error|Exception|Failed)|in \w|.*assert)", sparse=False),
    Mark(Kind.TEST, r"^collect(ed|ing) .*items?|^(FAIL|ERROR): test|^Ran \d+ tests?"),
    Mark(Kind.TEST, r"^={60,}$|^-{60,}$|^_ _ _ _ _", sparse=False),
    Mark(Kind.TEST, r"^\[gw\d+\]|node down: |worker 'gw\d+'|replacing crashed worker"),
    Mark(Kind.TEST, r"(::|\.py).* (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|RERUN)\b", sparse=False),
    Mark(Kind.TEST, r"^(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|RERUN)\b.*(::|\.py)", sparse=False),
    Mark(
        Kind.TEST,
        r"^\s*\d+/\d+ Test +#\d+: |^The following tests FAILED|^\[ +(RUN|OK|FAILED|PASSED) +\]",
        sparse=False,
    ),
    Mark(Kind.TEST, r"^//\S+ .*(PASSED|FAILED|TIMEOUT|FLAKY|NO STATUS)", sparse=False),
    Mark(Kind.TEST, r"^test \S+ \.\.\. |^\s*--- (PASS|FAIL|SKIP): ", sparse=False),
    Mark(
        Kind.PASSED, r"\bPASSED\b| \.\.\. ok$|\[ +OK +\]|^\[?(PASS|OK|ok)\]?\b| Passed +\d|[✓✔]", sparse=False
    ),
    Mark(
        Kind.FAILED, r"\bFAILED\b|\[ ?FAIL(ED)? ?\]|^\[?FAIL\b|^ERROR: test|\*\*\*Failed|\*\*\*Timeout|[✗✘❌]"
    ),
    Mark(
        Kind.SUMMARY,
        r"\b\d+ (passed|failed|errors?|skipped|deselected|xfailed|xpassed|rerun)\b.* in \d|^no tests ran|no tests collected",
    ),
    Mark(Kind.SUMMARY, r"^Ran \d+ tests?|^\d+% tests passed|^Executed \d+ out of \d+|^test result: "),
    Mark(Kind.SUMMARY, r"^(OK|FAILED)( \(|$)", sparse=False),
    # Launchers.
    Mark(Kind.LAUNCHER, r"Root Cause \(first observed|^Other Failures:|ChildFailedError|failed \(exitcode"),
    Mark(Kind.LAUNCHER, r"^\s*(time|host|rank|exitcode|error_file|traceback) +: ", sparse=False),
    Mark(
        Kind.LAUNCHER, r"Sending process \d+ closing signal|^srun: |^slurmstepd: |mpirun|^PMIX|torchelastic"
    ),
    Mark(
        Kind.LAUNCHER, r"torch[./]distributed[./](run|elastic|launch)|\[launch\.py:\d+|Process group watchdog"
    ),
    # Numbers.
    Mark(Kind.METRIC, r"([Ii]ter(ation)?|[Ss]tep|STEP|[Ee]poch|EPOCH|[Uu]pdate)s?\b\W{0,4}\d", sparse=False),
    Mark(
        Kind.METRIC,
        r"(loss|ppl|acc|accuracy|reward|return|score|grad_?norm|lr|bleu|f1|auc)['\"]?[ =:]{1,4}-?[\d.n]",
        sparse=False,
    ),
    Mark(
        Kind.METRIC,
        r"\d%\||(it|tokens?|samples?|steps?|tok|imgs?)/s(ec)?\b|\bs/(it|step)\b|:::MLLOG|validation loss",
        sparse=False,
    ),
    Mark(Kind.GATE, r"\d\S* (>|<|>=|<=|!=|==) -?\d", sparse=False),
    Mark(
        Kind.GATE,
        r"(below|above|exceed|floor|ceiling|limit|threshold|budget|tolerance|baseline|golden|required|at least|at most|within|regress).*\d",
        sparse=False,
    ),
    Mark(Kind.GATE, r"^\[(FAIL|PASS|OK|WARN)\]|\bgate\b.*(fail|pass|ok|red|green)", sparse=False),
    Mark(
        Kind.ATTEMPT,
        r"[Rr]etry|[Aa]ttempt\W{1,2}\d|\battempt \d|[Ff]all(ing)? back|[Rr]educing|[Rr]estart(ing|ed) (worker|from|attempt)|max_restarts",
    ),
    # Shells and the kernel.
    Mark(Kind.SHELL, r": line \d+: |: command not found|: No such file or directory$|: Permission denied$"),
    Mark(
        Kind.KERNEL,
        r"NVRM: |oom-kill|oom_kill|Memory cgroup out of memory|Out of memory: Killed|segfault at |traps: ",
    ),
)
