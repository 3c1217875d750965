"""Zoo: 101 animals, 15 traits, five events

You will see a table of yes and no completed from four fifths of it, the five events behind it, the rules that follow
from them, and one prediction taken apart. The table is UCI's Zoo, bundled with the library.
"""

# %%
# One cell in five is held out.
import kolmogorov as km

zoo = km.datasets.load("zoo")
train, test = zoo.split(test_size=0.2, random_state=0)
print(zoo)

# %%
# Five events, ten random starts. A model should be better than simple guesses, so these stand beside it.
model = km.KolmogorovModel(n_events=5, user_reg=0.3, n_init=10, random_state=0).fit(train)

print(f"held-out accuracy {model.evaluate(test)['accuracy']:.1%}")
for name, guess in km.metrics.simple_guesses(train, test.user_rows(), test.item_rows()).items():
    print(f"{name:22}{((guess > 0.5) == (test.values > 0.5)).mean():.1%}")

# %%
# An event is a kind of animal: what happens in it, and which animals are most surely in it.
for event in model.events():
    animals = [model.users_.name(row) for row in model.theta_[:, event.number].argsort()[::-1][:3]]
    print(f"{event.share:.0%} of the zoo, such as {', '.join(animals)}:\n    {', '.join(event.items)}")

# %%
# The same as a picture: a line for each trait, a dot where it happens. Traits with the same dots share a line: +1 is
# one more.
model.plot.matrix()
# picture: In which of the five events each trait happens

# %%
# Where the dots of one trait are among those of another, the first implies the second. The rules are chosen on the
# training cells and counted on the whole table; the base rate is the share of all animals that have the consequent.
rules = model.relations().rules(train, max_rules=6)
print(rules.on(zoo))

# %%
# One prediction, taken apart. The amounts add up to the probability.
print(model.explain("dolphin", "milk"))

# %%
# **What it means.** Five kinds of animals tell most cells that the model never saw, and the kinds are those one would
# name: mammals that hunt, tame ones, birds, fish, and what lives in the sea. The rules are exact in the model; in the
# table the weakest of these six held for 29 of 36. Read on: [the model](../model.md), [rules](../rules.md).
