"""Planted: a truth that is known, and found again

You will see a table drawn from a model that is known, and how many observations it takes to find its events, supports
and probabilities again.
"""
# gallery: within 0.1

# %%
# Four events, 300 users, 80 items. Every observation is a coin flip with the model's probability: nothing but yes and
# no is seen.
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment

import kolmogorov as km

size = {"n_users": 300, "n_items": 80, "n_events": 4, "concentration": 0.3, "binary": True, "random_state": 0}
truth = km.datasets.planted(**size)
print(truth.observations)
print(truth.psi[:3].astype(int))


# %%
# Events have no names, so the learned ones are matched with the planted ones before they are compared.
def recovered(model, truth):
    """Return the share of equal bits of psi, the share of whole rows, and the mean error of theta."""
    equal = (model.psi_[:, :, None] == truth.psi[:, None, :]).mean(axis=0)
    order = linear_sum_assignment(-equal.T)[1]
    same = model.psi_[:, order] == truth.psi
    return same.mean(), same.all(axis=1).mean(), np.abs(model.theta_[:, order] - truth.theta).mean()


model = km.KolmogorovModel(4, random_state=0).fit(truth.observations)
bits, rows, error = recovered(model, truth)
print(f"bits of psi found: {bits:.1%}, whole items: {rows:.1%}, mean error of theta: {error:.3f}")

# %%
# With fewer cells it becomes harder. The same truth, a part of the table; and beside it the paper's way, learned from
# the flips themselves.
counts = [600, 1200, 2400, 4800, 9600, 24000]
found = []
for count in counts:
    part = km.datasets.planted(**size, n_observations=count)
    fitted = km.KolmogorovModel(4, random_state=0).fit(part.observations)
    straight = km.KolmogorovModel(4, learn_from="ratings", user_reg=0.3, n_init=10, random_state=0).fit(
        part.observations
    )
    found.append((*recovered(fitted, part), recovered(straight, part)[0]))
    print(f"{count:6,} flips, {count / 300:3.0f} of a user: {found[-1][0]:.0%} of bits, {found[-1][1]:.0%} of items")

# %%
bits, rows, error, others = np.array(found).T
figure, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
ax.plot(counts, bits, marker="o", label="bits of psi found")
ax.plot(counts, others, marker="o", linestyle=":", label="bits of psi found, learned from the flips")
ax.plot(counts, rows, marker="o", label="whole items found")
ax.plot(counts, error, marker="o", label="mean error of theta")
ax.set(xscale="log", xlabel="coin flips seen", ylim=(0, 1.02))
ax.legend(frameon=False)
# picture: What is found of the planted model with more and more observations


# %%
# The rules are found with the supports: how many of the planted implications does the model state, and how many of
# its own are planted?
def implications(psi):
    """Return which item implies which."""
    return ~(psi[:, None, :] & ~psi[None, :, :]).any(axis=2) & ~np.eye(len(psi), dtype=bool)


planted, learned = implications(truth.psi), implications(model.psi_)
print(f"planted {planted.sum():,}, learned {learned.sum():,}, both {(planted & learned).sum():,}")

# %%
# **What it means.** The fit finds the model that a table comes from where there is enough of the table; with draws that
# complete it first, half as much is enough here. How much that is can be tried: draw a table of your own size with
# `km.datasets.planted` before you trust what you read off yours.
