"""The structure in which a log reports a failure: steps, exceptions, tests, launchers, progress, comparisons."""
