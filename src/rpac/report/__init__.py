"""What is said before and after a release: plan, record, page, wording."""
