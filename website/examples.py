"""What mkdocstrings loads beside docstrings: their examples, shown as code (`mkdocs.yml`)."""

import griffe

from website.interface import fenced


class Examples(griffe.Extension):
    """Shows the examples of docstrings as code; the docstrings themselves stay plain."""

    def on_instance(self, *, obj, **_):
        """Fence the examples of whatever has a docstring."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
