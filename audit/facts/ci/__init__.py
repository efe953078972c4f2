"""Readers of continuous-integration files: jobs, steps and the commands that they run, with their true
lines."""
