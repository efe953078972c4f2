"""Steps and their conclusions in the logs of several CI systems."""

import pytest

from audit.failure.structure.steps import Conclusion, jobs
from tests.failure.made import lines, reading

GITHUB = """
##[group]Run pip install .
##[endgroup]
Successfully installed x
##[group]Run python train.py
##[endgroup]
boom
##[error]Process completed with exit code 3.
##[group]Run df -h
##[endgroup]
Post job cleanup.
Cleaning up orphan processes
"""


def test_a_github_job_that_failed() -> None:
    (job,) = jobs(reading(lines(GITHUB)))
    assert job.conclusion is Conclusion.FAILURE
    assert [(step.name, step.conclusion, step.exit_code) for step in job.steps if not step.teardown] == [
        ("pip install .", Conclusion.SUCCESS, None),
        ("python train.py", Conclusion.FAILURE, 3),
        ("df -h", Conclusion.UNKNOWN, None),
    ]
    assert job.steps[1].end is not None
    assert job.steps[1].end.number == 7
    assert [step.name for step in job.steps if step.teardown] == [
        "Post job cleanup",
        "Cleaning up orphan processes",
    ]


def test_a_github_job_that_ended_without_an_error_succeeded() -> None:
    (job,) = jobs(
        reading(
            lines(
                "##[group]Run x\n##[endgroup]\nERROR: handled\nPost job cleanup.\nCleaning up orphan processes"
            )
        )
    )
    assert job.conclusion is Conclusion.SUCCESS


def test_a_cut_github_log_says_nothing() -> None:
    (job,) = jobs(reading(lines("##[group]Run x\n##[endgroup]\nstep 1 los"), cut=True))
    assert job.conclusion is Conclusion.UNKNOWN
    assert not job.complete


def test_a_cancelled_job_is_no_failed_one() -> None:
    (job,) = jobs(
        reading(
            lines(
                "##[group]Run x\n##[endgroup]\nstep 1\n##[error]The operation was canceled.\nCleaning up orphan processes"
            )
        )
    )
    assert job.conclusion is Conclusion.CANCELLED


def test_gitlab_blames_the_last_command_before_teardown() -> None:
    text = """
section_start:1:step_script
$ pip install -r requirements.txt
$ python train.py
boom
section_end:1:step_script
section_start:2:after_script
$ dmesg | tail
section_end:2:after_script
ERROR: Job failed: exit code 1
"""
    (job,) = jobs(reading(lines(text)))
    assert [step.command for step in job.steps if step.conclusion is Conclusion.FAILURE] == [
        "python train.py"
    ]
    assert job.exit_code == 1


def test_jenkins_takes_the_code_from_the_line_before_its_last_word() -> None:
    text = """
[Pipeline] { (Install)
+ pip install .
[Pipeline] { (Train)
+ python train.py
boom
[Pipeline] { (Declarative: Post Actions)
+ ls
ERROR: script returned exit code 7
Finished: FAILURE
"""
    (job,) = jobs(reading(lines(text)))
    failed = [step for step in job.steps if step.conclusion is Conclusion.FAILURE]
    assert [(step.name, step.exit_code) for step in failed] == [("Train", 7)]


@pytest.mark.parametrize("word", ["Job succeeded", "Finished: SUCCESS"])
def test_words_of_success(word: str) -> None:
    (job,) = jobs(reading(lines(f"$ x\nERROR: handled\n{word}")))
    assert job.conclusion is Conclusion.SUCCESS


def test_azure_names_its_steps() -> None:
    (job,) = jobs(
        reading(
            lines(
                "##[section]Starting: Run tests\nboom\n##[error]Bash exited with code '2'.\n##[section]Finishing: Run tests"
            )
        )
    )
    assert [(step.name, step.exit_code) for step in job.steps if step.conclusion is Conclusion.FAILURE] == [
        ("Run tests", 2)
    ]
