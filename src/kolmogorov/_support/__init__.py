"""Ground floor, which knows nothing of Kolmogorov models.

`jit` compiles, `threads` deals out rows, `seeds` are random numbers; `validation` says what parameters and arrays must
be; `display` is what people are told and how it is shown, `outside` whole files and optional packages.
"""
