"""`python -m audit` is `ml-audit`."""

from audit.cli.main import main

if __name__ == "__main__":
    main()
