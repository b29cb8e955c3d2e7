"""The speed budgets of the project, each measured against its peer in the same run. See README.md beside this file."""
