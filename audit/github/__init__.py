"""What is written to GitHub: the sticky comment, the check run, review suggestions, annotations in the log, the job summary."""
