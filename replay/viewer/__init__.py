"""
What a run looks like: pages for a browser, in one file or served while the run goes on.

Everything that a system or a data set said is untrusted here. It is escaped where it is put into a page,
and a Content-Security-Policy that names each of our own scripts makes sure that nothing else runs should
that ever fail (``pages``).
"""
