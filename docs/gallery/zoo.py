"""Zoo: 101 animals, 15 traits, five events

You will see a table of yes and no completed from four fifths of it, the five events behind it, the rules that follow
from them, and one prediction taken apart. The table is UCI's Zoo, bundled with the library.
"""
# gallery: within 0.1

# %%
# One cell in five is held out.
import kolmogorov as km

zoo = km.datasets.load("zoo")
train, test = zoo.split(test_size=0.2, random_state=0)
print(zoo)

# %%
# Five events, few enough to read at a glance. A model should be better than simple guesses, so these stand beside it.
model = km.KolmogorovModel(n_events=5, random_state=0).fit(train)

print(f"held-out accuracy {model.evaluate(test)['accuracy']:.1%}")
for name, guess in km.metrics.simple_guesses(train, test.user_rows(), test.item_rows()).items():
    print(f"{name:22}{((guess > 0.5) == (test.values > 0.5)).mean():.1%}")

# %%
# An event is a kind of animal: what its animals have more often than all animals do, and which are most surely in it.
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
# One prediction, taken apart: what every animal would get, and what each event changes. It is theta · psi, to the last
# digit.
why = model.explain("dolphin", "milk")
print(why)
theta, psi = model.theta_[model.users_.encode(["dolphin"])[0]], model.psi_[model.items_.encode(["milk"])[0]]
print(f"predicted {model.predict('dolphin', 'milk'):.3f}, theta · psi {theta @ psi:.3f}")

# %%
# **What it means.** Five kinds of animals tell most cells that the model never saw, and the kinds are those one would
# name: large mammals, small ones, birds, fish, and what crawls. The rules are exact in the model; how often they hold
# in the table is counted. What is read is what predicts: [one model](../one_model.md). Read on:
# [the model](../model.md), [rules](../rules.md).
