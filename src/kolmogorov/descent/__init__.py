"""Algorithm 4 over ratings and over completed tables, and what a fit leaves behind.

`problem` is what is asked, `engine` half-steps, sweeps and starts; `distillation` makes one model of many, `implicit`
is for tables in which only yes is recorded; `fitted` is what is learned, `placing` and `attributes` put rows into it,
and `files` holds it.
"""
