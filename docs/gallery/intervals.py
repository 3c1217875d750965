"""Intervals: how sure a prediction is

You will see predictions with intervals, a count of how many held-out answers they hold, and how much surer the model
is of people who answered more. The table is the *planted* survey.
"""
# gallery: within 0.15

# %%
# Everyone gets a number of their own of answers that may be learned from; the others are held out.
import matplotlib.pyplot as plt
import numpy as np

import kolmogorov as km

survey = km.datasets.load("survey")
rng = np.random.default_rng(0)
share = rng.uniform(0.05, 0.95, size=survey.n_users)
seen = rng.random(len(survey)) < share[survey.user_rows()]
train, test = survey.subset(seen), survey.subset(~seen)
print(train)

# %%
# Draws from the posterior instead of one model. Their mean predicts, their spread says how sure it is.
model = km.BayesianKolmogorovModel(5, n_chains=4, random_state=0, n_jobs=-1).fit(train)
print(f"held-out error {model.evaluate(test)['rmse_rating']:.1f} points")

# %%
# `predict_interval` holds a new answer with the given probability. Does it?
rating = test.scale.rating(test.values)
for level in (0.5, 0.8, 0.9):
    low, high = model.predict_interval(test, level=level)
    print(f"{level:.0%} intervals hold {((rating >= low) & (rating <= high)).mean():.0%} of held-out answers")

# %%
# Held-out answers of one person: what was expected, the 80% interval, and the answer given.
person = survey.users.encode(["young-harbour-1"])[0]
mine = np.flatnonzero(test.user_rows() == person)[:12]
part = test.subset(np.isin(np.arange(len(test)), mine))
mean = model.predict(part, output="rating")
low, high = model.predict_interval(part, level=0.8)
figure, ax = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
ax.hlines(range(len(part)), low, high, linewidth=5, alpha=0.3)
ax.plot(mean, range(len(part)), "o", label="expected")
ax.plot(part.scale.rating(part.values), range(len(part)), "x", color="black", label="answered")
ax.set_yticks(range(len(part)), [part.items.name(row) for row in part.item_rows()])
ax.set_xlabel("answer")
ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
# picture: Expected and given answers of one person, with 80% intervals

# %%
# The spread of the expected answer alone, without the noise of an answer, by how much a person has said.
spread = model.predict(test, return_std=True, output="rating")[1]
counts = train.rows.counts[test.user_rows()]
figure, ax = plt.subplots(figsize=(6.4, 3.0), layout="constrained")
people = np.unique(test.user_rows())
ax.scatter(train.rows.counts[people], [spread[test.user_rows() == one].mean() for one in people], s=14)
ax.set(xlabel="answers learned from", ylabel="standard deviation of the mean", ylim=(0, None))
for few, many in ((1, 5), (6, 15), (16, 40)):
    print(f"{few:2} to {many:2} answers: {spread[(counts >= few) & (counts <= many)].mean():.1f} points")
# picture: How unsure the expected answers of each person are, by the number of answers learned from

# %%
# **What it means.** An interval has two parts: what the model does not know of a person, which shrinks with every
# answer, and the noise of answers, which does not. A single model gives the mean alone; take draws where a decision
# depends on how sure it is. Read on: [draws](../bayes.md).
