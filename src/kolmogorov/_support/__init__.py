"""Ground floor, which knows nothing of Kolmogorov models.

`jit` compiles, `threads` deals out rows, `seeds` are random numbers; `validation` says what parameters and arrays must
be; `progress` is what is said meanwhile, `markup` how it is shown, `writing` files that are whole; `optional` imports
what is not part of the core; `typing` names arrays.
"""
