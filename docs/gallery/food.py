"""Food: who likes which cuisines

You will see how 1,373 people rate 40 cuisines, explained by five tastes, and how far their answers can be guessed.
FiveThirtyEight asked, in 2014; the table is licensed CC BY 4.0.
"""
# gallery: within 0.1

# %%
# From 1, hate, to 5, love; whoever does not know a cuisine says nothing. A fifth of the answers is held out.
import matplotlib.pyplot as plt

import kolmogorov as km

food = km.datasets.load("food")
train, test = food.split(test_size=0.2, random_state=0)
model = km.KolmogorovModel(5, psi="soft", random_state=0).fit(train)
biases = km.metrics.guess_scores(train, test)["user and item biases"]["rmse_rating"]
print(f"error in points: {model.evaluate(test)['rmse_rating']:.2f}, of biases {biases:.2f}")

# %%
# A taste is an event: what its people like more than others do.
for event in model.events(n_items=5):
    print(f"{event.share:.0%}", ", ".join(event.items))

# %%
# The same as a picture: how likely eight cuisines are liked in each taste.
shown = ["Italy", "United States", "Mexico", "Japan", "India", "Ethiopia", "Germany", "Cuba"]
rows = model.items_.encode(shown)
figure, ax = plt.subplots(figsize=(5.6, 3.2), layout="constrained")
ax.imshow(model.psi_[rows], cmap="RdBu", vmin=0, vmax=1, aspect="auto")
ax.set_xticks(range(5), [f"event {event}" for event in range(5)])
ax.set_yticks(range(len(shown)), shown)
# picture: Eight cuisines in five tastes; blue is liked

# %%
# What goes with what, beyond that some people like everything:
print(model.rules()[:4])
