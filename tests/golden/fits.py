"""What each kind of fit learns, predicts and says, on bundled tables and, where it is there, MovieLens 100K.

Fits are short: the point is that nothing moves, not that anything is learned well.
"""

import numpy as np

import kolmogorov as km

SEED = {"random_state": 0}


def tables(name):
    """Return a part of a table to learn from, and the rest."""
    if name == "votes yes/no":
        table = km.datasets.load("un-votes", since=2018)
        table = table.subset(table.values != 0.5)
    elif name == "ml-100k":
        return km.datasets.folds("ml-100k")[0]
    else:
        table = km.datasets.load(name.split()[0], **({"since": 2018} if name == "un-votes" else {}))
    return table.split(test_size=0.2, random_state=0)


def yes_only(table):
    """Return the entries above one half alone, each a yes."""
    chosen = table.values > 0.5
    users, items = table.user_rows()[chosen], table.item_rows()[chosen]
    return km.Observations.from_arrays(table.users.ids[users], table.items.ids[items], np.ones(len(users)))


def text(value):
    return np.array(str(value).splitlines())


def columns(frame):
    """Return a frame's columns as arrays; texts stay texts."""
    return {f"column {name}": np.array(frame[name].tolist()) for name in frame.columns}


def said(model, test):
    """Return predictions for pairs, a table and guests, lists and explanations of a model."""
    users, items = model.users_.ids, model.items_.ids
    pairs = test.to_frame("pandas")[["user", "item"]].head(200)
    guest = {items[0]: model.scale_.maximum, items[1]: model.scale_.minimum}
    return {
        "predict": model.predict(pairs["user"].tolist(), pairs["item"].tolist(), output="probability"),
        "predict users": model.predict(users[:20], items[3], output="probability"),
        **columns(model.recommend(users[:3].tolist(), n=5)),
        "guest": columns(model.recommend(guest=guest, n=5)),
        "similar": columns(model.similar_items(items[2], n=5)),
        "explain": text(model.explain(users[1], items[2])),
        "evaluate": np.array([(name, repr(float(value))[:12]) for name, value in model.evaluate(test).items()]),
    }


def factors(model):
    history = [(step.objective, step.rmse) for step in model.history_] if hasattr(model, "history_") else []
    return {"theta": model.theta_, "psi": np.asarray(model.psi_), "history": np.array(history)}


def point(model, train, test):
    """Return what a fit of one model learns, and what it says."""
    model = model.fit(train)
    found = factors(model) | said(model, test)
    found["rules"] = columns(model.rules().to_frame("pandas").head(40))
    found["events"] = text([(event.share, event.items, event.users) for event in model.events()])
    found["influence"] = model.relations().influence if model.psi_.dtype == bool else np.empty(0)
    new = test.subset(np.isin(test.user_rows(), np.arange(5)))
    found["fold_in"] = model.fold_in(new)
    found["update"] = factors(model.update(new))["theta"]
    return found


def drawn(model, train, test):
    """Return what draws are, and what they say."""
    model = model.fit(train)
    pairs = test.to_frame("pandas")[["user", "item"]].head(50)
    users, items = pairs["user"].tolist(), pairs["item"].tolist()
    posterior = model.posterior_
    found = {"theta": posterior.theta, "psi": posterior.psi} | said(model, test)
    found["interval"] = np.array(model.predict_interval(users, items))
    found["distribution"] = np.asarray(model.predict_distribution(users, items))
    found["as_model"] = factors(model.as_model(4))
    found["as_model soft"] = factors(model.as_model(4, psi="soft"))
    return found


def lists(model, train, test):
    model = model.fit(train)
    users, items = model.users_.ids, model.items_.ids
    return {
        "theta": model.theta_,
        "psi": model.psi_,
        "settings": text(model.settings_),
        **columns(model.recommend(users[:5].tolist(), n=5)),
        "guest": columns(model.recommend(guest={items[0]: 1, items[3]: 1}, n=5)),
        "explain": text(model.explain(users[1], items[2])),
    }


def fits():
    """Return every fit as (the table it is of, the function that makes it)."""
    point_model, draws = km.KolmogorovModel, km.BayesianKolmogorovModel
    descent = {"learn_from": "ratings", "max_iter": 8, **SEED}
    chains = {"n_chains": 2, "burn_in": 15, "n_samples": 5, **SEED}
    paper = point_model.as_in_paper
    kinds = {
        "ratings, binary": (point, lambda: point_model(4, **descent)),
        "ratings, soft": (point, lambda: point_model(4, psi="soft", **descent)),
        "as in the paper": (point, lambda: paper(4, max_iter=3, **SEED)),
        "as printed": (point, lambda: paper(4, max_iter=3, keep_better=False, **SEED)),
        "default": (point, lambda: point_model(**SEED)),
        "default, soft": (point, lambda: point_model(psi="soft", **SEED)),
        "draws": (drawn, lambda: draws(6, **chains)),
    }
    names = {"zoo": kinds, "food": kinds, "un-votes": kinds, "votes yes/no": ["draws", "default"]}
    names["ml-100k"] = ["ratings, binary", "ratings, soft", "as in the paper", "default", "draws"]
    found = {f"{name}: {kind}": (name, *kinds[kind]) for name, chosen in names.items() for kind in chosen}
    for name in ("zoo", "food"):
        found[f"{name}: implicit"] = (f"{name} yes", point, lambda: point_model(4, unobserved="auto", **SEED))
        found[f"{name}: lists"] = (f"{name} yes", lists, lambda: km.ListModel(**SEED))
    return found


def made(name, kind, model):
    """Fit a model to a table, and return what it is and says."""
    train, test = tables(name)
    if name.endswith(" yes"):
        train, test = yes_only(train), yes_only(test)
    return kind(model(), train, test)
