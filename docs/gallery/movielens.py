"""MovieLens: titles, one model to read and to predict with, rules, the report

You will see 100,000 ratings with the films' titles, one model beside simple guesses and beside many models, what its
events are about, rules that are counted on held-out ratings, and the page to explore it all. MovieLens is not part of
the library: the script looks for it under `KOLMOGOROV_DATA`, or downloads it from GroupLens after showing its licence
(Harper and Konstan 2015, doi:10.1145/2827872).
"""
# gallery: needs ml-100k
# gallery: within 0.05

# %%
from pathlib import Path

import kolmogorov as km

ratings = km.datasets.load("ml-100k")
train, test = ratings.split(test_size=0.2, random_state=0)
print(ratings)

# %%
# One model with nothing set; the same with chances instead of bits; and the paper's way, from the ratings alone. Means
# and biases stand beside them.
model = km.KolmogorovModel(random_state=0).fit(train)
chances = km.KolmogorovModel(psi="soft", random_state=0).fit(train)
straight = km.KolmogorovModel(16, learn_from="ratings", user_reg=40.0, random_state=0).fit(train)
for name, each in {"one model": model, "with chances": chances, "from the ratings": straight}.items():
    print(f"{name:22}{each.evaluate(test)['rmse_rating']:.3f} stars of held-out error")
for name, scores in km.metrics.guess_scores(train, test).items():
    print(f"{name:22}{scores['rmse_rating']:.3f}")

# %%
# The events, named by films that their people like more than others do.
model.plot.events()
# picture: The events, named by films, with their shares of the population

# %%
# Why this film for this viewer: what everybody would give it, and what each event changes, the largest first.
viewer = ratings.users.ids[0]
why = model.explain(viewer, model.recommend(viewer, n=1)["item"][0])
print(why.sentence)
for name, stars in why.steps[:5]:
    print(f"  {stars:+.2f} {name}")

# %%
# Rules between films that many have rated, chosen on the training part and counted on the held-out part. Likes are
# four stars or more.
rules = model.rules(likes=0.8)
totals = rules.on(test).totals()
print(f"{len(rules)} rules held in {totals['confidence']:.0%} of {totals['pairs']:.0f} held-out cases")
print(f"base rate {totals['base_rate']:.0%}")
for rule in rules[:5]:
    print(rule)

# %%
# Films like another, and a list for someone who is not in the data.
alien = ratings.items.parse("Alien (1979)")
print(model.similar_items(alien, n=3)["title"].tolist())
print(model.recommend(guest={"Alien (1979)": 5, "Blade Runner (1982)": 5, "Titanic (1997)": 2}, n=3)["title"].tolist())

# %%
# One file to explore it all, which opens from disk and needs no network.
model.report("movielens.html", ratings, title="MovieLens 100K", likes=0.8, nouns=("viewer", "film"))
print(f"movielens.html, {Path('movielens.html').stat().st_size / 1e6:.1f} MB")

# %%
# **What it means.** Stars are noisy, and biases alone go far: learned from the ratings alone a Kolmogorov model is
# about as accurate as they are. Learned from the table that draws complete it is clearly better, and still one model:
# the events, the rules and the reasons above are those of what predicts. Read on: [one model](../model.md),
# [the report](../report.md).
