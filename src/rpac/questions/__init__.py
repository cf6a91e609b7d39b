"""Questions by name and by program: statistics, estimators, shell commands."""
