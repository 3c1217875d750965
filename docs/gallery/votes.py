"""Votes: a roll call, its parties, and what follows from a yes

You will see a parliament's roll call with missing votes completed, the events behind the votes set against party and
region, and which yes implies which. The table is *planted*: members, parties and motions are invented, the votes are
drawn from a seed, so that what was learned can be compared with what is true.
"""
# gallery: within 0.1

# %%
# 120 members, 60 motions, a tenth of the votes missing; a fifth of the others is held out.
import matplotlib.pyplot as plt
import numpy as np

import kolmogorov as km

truth = km.datasets.truth("votes")  # truth.observations is km.datasets.load("votes")
votes = truth.observations
train, test = votes.split(test_size=0.2, random_state=0)
print(votes)

# %%
# How many events? Cross-validation of the training part tells when there are too few; from the planted six on, more
# hardly matter.
found = km.tune(train, n_events=(2, 4, 6, 8, 12), random_state=0)
for trial in found.trials:
    print(f"{trial.n_events:3} events: error {trial.score:.3f}")

# %%
model = km.KolmogorovModel(6, random_state=0).fit(train)
expected = (truth.theta @ truth.psi.T)[test.user_rows(), test.item_rows()]
guess = km.metrics.simple_guesses(train, test.user_rows(), test.item_rows())["item means"]
for name, accuracy in {
    "each motion's mean": ((guess > 0.5) == (test.values > 0.5)).mean(),
    "the model": model.evaluate(test)["accuracy"],
    "the planted truth": ((expected > 0.5) == (test.values > 0.5)).mean(),
}.items():
    print(f"{name:20}{accuracy:.1%} accuracy on held-out votes")

# %%
# Who votes in which event: the mean theta of each party's members. Parties were not shown to the model.
parties = list(dict.fromkeys(truth.groups["party"].tolist()))
means = np.array([model.theta_[truth.groups["party"] == party].mean(axis=0) for party in parties])
figure, ax = plt.subplots(figsize=(7.0, 2.6), layout="constrained")
left = np.zeros(len(parties))
for event in model.events(n_items=1):
    ax.barh(parties, means[:, event.number], left=left, color=f"C{event.number}", label=event.items[0])
    left += means[:, event.number]
ax.set(xlim=(0, 1), xlabel="mean probability of each event")
ax.invert_yaxis()
ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
liberal = model.psi_[model.items_.encode(["A right to encryption"])[0]].argmax()  # the event in which that passes
for region in dict.fromkeys(truth.groups["region"].tolist()):
    print(f"{region:6}{model.theta_[truth.groups['region'] == region, liberal].mean():.0%} in the liberal event")
# picture: Mean probability of the six learned events in the four parties

# %%
# Which yes implies which. Rules are chosen on the training votes and counted on those held out.
relations = model.relations()
rules = relations.rules(train, max_rules=200)
counted = rules.on(test).totals()
print(f"{len(rules)} rules, {counted['pairs']:.0f} held-out cases")
print(f"held in {counted['confidence']:.0%} of them, base rate {counted['base_rate']:.0%}")
for antecedent, consequent in relations.named(relations.implications()):
    if "carbon" in antecedent and "carbon" in consequent:
        print(f"{antecedent} ⇒ {consequent}")

# %%
# One member, one motion.
print(model.explain("country-north-1", "Subsidise wind farms on farmland"))

# %%
# One roll call may flatter. Here are four more, drawn from other seeds and learned in the same way.
for seed in range(1, 5):
    other = km.datasets.truth("votes", random_state=seed)
    learned, hidden = other.observations.split(test_size=0.2, random_state=0)
    fitted = km.KolmogorovModel(6, random_state=0).fit(learned)
    expected = (other.theta @ other.psi.T)[hidden.user_rows(), hidden.item_rows()]
    best = ((expected > 0.5) == (hidden.values > 0.5)).mean()
    print(f"seed {seed}: the model {fitted.evaluate(hidden)['accuracy']:.1%}, the planted truth {best:.1%}")

# %%
# **What it means.** The events are opinions, not parties: Union has two of them, and the liberal one belongs to the
# City more than to any other region. Who wants the higher carbon tax wants the lower ones; the model read that ladder
# off the votes alone. On held-out votes it is one to three points below the planted truth, which nobody can beat in the
# long run since each vote was a draw. Read on: [rules](../rules.md).
