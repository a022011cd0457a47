"""One file per format: how its properties are read, and how its pixels.

A reader of pictures, one to a file, has ``probe(file) -> list[Header]`` and
``decode(file, header) -> pixels``; a reader of stacks has ``look(path, selection) -> Contents``.
`varfocus.io.formats` determines which of them reads a file.
"""
