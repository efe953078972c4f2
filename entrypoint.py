"""Where the container and the composite action begin: the action without arguments, the command `ml-audit` with some."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    if sys.argv[1:]:
        from audit.cli.main import main as command

        command()
    from audit.action.run import main

    sys.exit(main())
