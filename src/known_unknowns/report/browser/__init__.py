"""The question browser: a page that shows every question with every model's replies, and its data in shards.

docs/report.md#question-browser describes the page, and DATA.md the format of the shards.
"""

from known_unknowns.report.browser.build import Summary, build

__all__ = ["Summary", "build"]
