"""Algorithm 4 over ratings and over completed tables, and what a fit leaves behind.

`problem` is what is asked, `engine` half-steps, sweeps and starts; `completion` is the table that many models complete
and `distillation` one model of it; `implicit` is for tables in which only yes is recorded; `fitted` is what is learned,
`placing` and `attributes` put rows into it, and `files` holds it.
"""
