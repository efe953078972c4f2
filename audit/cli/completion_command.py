"""`ml-audit completion SHELL`."""

import click


@click.command(
    "completion",
    epilog="""\b
Examples:
  ml-audit completion bash > ~/.local/share/bash-completion/completions/ml-audit
  ml-audit completion zsh > ~/.zfunc/_ml-audit
  ml-audit completion fish > ~/.config/fish/completions/ml-audit.fish
""",
)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def completion_command(shell: str) -> None:
    """Print the script that completes commands and options in SHELL."""
    from click.shell_completion import get_completion_class

    from audit.cli.main import PROGRAM, cli
    from audit.cli.output import write_stdout

    completion = get_completion_class(shell)
    assert completion is not None  # noqa: S101 (the choice above names those that click has)
    source = completion(cli, {}, PROGRAM, "_ML_AUDIT_COMPLETE")
    # Not source.source(): that of bash first runs bash to look at its version.
    write_stdout(source.source_template % source.source_vars() + "\n")
