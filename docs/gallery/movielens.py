"""MovieLens: titles, a tuned model, rules, the report

You will see 100,000 ratings with the films' titles, parameters chosen by cross-validation, what the events are about,
rules that are counted on held-out ratings, and the page to explore it all. MovieLens is not part of the library: the
script looks for it under `KOLMOGOROV_DATA`, or downloads it from GroupLens after showing its licence (Harper and
Konstan 2015, doi:10.1145/2827872).
"""
# gallery: needs ml-100k

# %%
from pathlib import Path

import kolmogorov as km

ratings = km.datasets.load("ml-100k")
train, test = ratings.split(test_size=0.2, random_state=0)
print(ratings)

# %%
# Number of events and regularisation, by cross-validation of the training part. Means and biases stand beside the
# result.
threads = km.KolmogorovModel(n_jobs=-1)
found = km.tune(train, model=threads, n_events=(4, 8), user_reg=(5.0, 10.0, 20.0), item_reg=(0.0, 0.1), random_state=0)
model = found.model
print(found)
print(f"the tuned model       {model.evaluate(test)['rmse_rating']:.3f} stars of held-out error")
for name, guess in km.metrics.simple_guesses(train, test.user_rows(), test.item_rows()).items():
    print(f"{name:22}{km.metrics.evaluate(test.values, guess, None, 5)['rmse_rating']:.3f}")

# %%
# A model whose every prediction is theta · psi is there to be read. More accurate is the model with nothing set,
# which has soft values beside the supports.
soft = km.KolmogorovModel(random_state=0, n_jobs=-1).fit(train)
print(f"nothing set           {soft.evaluate(test)['rmse_rating']:.3f}")

# %%
# The events of the tuned model, named by films that their people like more than others do.
model.plot.events()
# picture: The events, named by films, with their shares of the population

# %%
# Rules between films that many have rated, chosen on the training part and counted on the held-out part. Likes are
# four stars or more.
rules = model.relations(min_ratings=50).rules(train, likes=0.8, max_rules=500)
totals = rules.on(test).totals()
print(f"{len(rules)} rules held in {totals['confidence']:.0%} of {totals['pairs']:.0f} held-out cases")
print(f"base rate {totals['base_rate']:.0%}")
for rule in rules[:5]:
    print(f"{rule.antecedent} ⇒ {rule.consequent}")

# %%
# Films like another, and a list for someone who is not in the data.
alien = ratings.items.parse("Alien (1979)")
print(soft.similar_items(alien, n=3)["title"].tolist())
print(soft.recommend(guest={"Alien (1979)": 5, "Blade Runner (1982)": 5, "Titanic (1997)": 2}, n=3)["title"].tolist())

# %%
# One file to explore it all, which opens from disk and needs no network.
model.report("movielens.html", ratings, title="MovieLens 100K", likes=0.8, nouns=("viewer", "film"))
print(f"movielens.html, {Path('movielens.html').stat().st_size / 1e6:.1f} MB")

# %%
# **What it means.** Stars are noisy, and biases alone go far: a plain Kolmogorov model is about as accurate as they
# are, the one with soft values clearly more. What the plain one adds is that it can be read: events with names, and
# rules between films that hold on ratings it never saw more often than the films' base rates would have it. Read on:
# [the report](../report.md).
