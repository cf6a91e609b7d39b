"""What is shown of a release: answers in the question's own form, and their error bars.

Everything here is made of released numbers and of public things: it decides no guarantee.
"""
