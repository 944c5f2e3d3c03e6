"""
The built-in adapters: one file for each kind of system that can be reached.

They come through the same door as anybody else's, the entry-point group ``replay.adapters``, and use
nothing of ``replay`` but what it exports.
"""
