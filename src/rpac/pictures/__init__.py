"""Pictures from plain numbers: matplotlib figures, SVG for reports."""
