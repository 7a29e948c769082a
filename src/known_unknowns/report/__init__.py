"""The report: one HTML file per edition that works offline, without scripts and without network access.

`page.build` writes it. `section.section` returns what the report shows of one benchmark.
"""
