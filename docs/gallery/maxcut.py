"""Max-cut: a binary quadratic program from outside

You will see the solvers at a problem that has nothing to do with tables: divide the nodes of a graph into two sides
so that as many edges as possible lead from one to the other. There is a good cut, and a bound that no cut can exceed.
"""

# %%
# A random graph with 40 nodes, each pair joined with probability 0.15.
import matplotlib.pyplot as plt
import numpy as np

import kolmogorov as km

rng = np.random.default_rng(3)
upper = np.triu(rng.random((40, 40)) < 0.15, k=1)
edges = np.argwhere(upper)
print(f"40 nodes, {len(edges)} edges")

# %%
# With x_i in {0, 1} for the side of node i, an edge is cut where x_i + x_j - 2 x_i x_j = 1. Minus the number of edges
# cut is x^T S x - 2 x^T v with the adjacency matrix for S and half the degrees for v.
S = (upper | upper.T).astype(float)
v = S.sum(axis=1) / 2


def cut(x):
    """Count the edges between the two sides."""
    return int((x[edges[:, 0]] != x[edges[:, 1]]).sum())


# %%
# `newton` solves the dual of the semidefinite relaxation: its bound holds for every cut. Descents by one and two flips
# from many starts, the default, find a good one.
relaxed = km.bqp.solve(S, v, solver="newton", gamma=1000.0)
best = km.bqp.solve(S, v)
print(f"dual bound          no cut has more than {-relaxed.lower_bound:.2f} edges")
print(f"rounded relaxation  {cut(relaxed.x)}")
print(f"descents            {cut(best.x)}")

# %%
# The cut: grey edges stay on their side.
place = np.empty((40, 2))
for side, middle in ((0, 0.0), (1, np.pi)):
    nodes = np.flatnonzero(best.x == side)
    angle = middle + np.linspace(-1.1, 1.1, nodes.size)
    place[nodes] = np.column_stack([np.cos(angle), np.sin(angle)])
figure, ax = plt.subplots(figsize=(4.6, 3.8), layout="constrained")
for i, j in edges:
    across = best.x[i] != best.x[j]
    ax.plot(*place[[i, j]].T, color="#4269d0" if across else "#999999", linewidth=0.8)
ax.scatter(*place.T, c=["#d6453d" if side else "#e68a00" for side in best.x], s=36, zorder=2)
ax.set_aspect("equal")
ax.axis("off")
# picture: The graph with its two sides; blue edges are cut

# %%
# **What it means.** Any problem of the form x^T S x - 2 x^T v over bits will do: max-cut, number partitioning, Ising
# models, QUBO files (`km.bqp.read`, `km.bqp.from_dimod`). Where a solver knows a lower bound, `Solution.lower_bound`
# says how far its answer can be from the best. Read on: [solvers](../solvers.md).
