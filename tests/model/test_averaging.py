"""A bag of point estimates is their mean."""

import numpy as np
import pytest

from kolmogorov import KolmogorovModel, NonnegativeModel, SVDpp, bagged
from kolmogorov.errors import ParameterError


def test_a_bag_is_the_mean_of_its_models(zoo):
    base = KolmogorovModel(3, user_reg=0.3)
    bag = bagged(zoo, 4, model=base, random_state=5)
    assert bag.n_events == 12
    parts = [bag.theta_[:, k : k + 3] @ bag.psi_[:, k : k + 3].T for k in range(0, 12, 3)]
    for part in bag.theta_.reshape(zoo.n_users, 4, 3).sum(axis=2).T:
        np.testing.assert_allclose(part, 0.25)
    np.testing.assert_allclose(bag.predict(zoo), sum(parts)[zoo.user_rows(), zoo.item_rows()], atol=1e-12)
    fits = {part.tobytes() for part in parts}
    assert len(fits) == 4
    assert not fits & {p.tobytes() for p in (bagged(zoo, 4, model=base, random_state=6).theta_,)}
    other = bagged(zoo, 4, model=base, bootstrap=True, random_state=5)
    assert np.abs(other.predict(zoo) - bag.predict(zoo)).max() > 1e-3


def test_relaxed_models_are_averaged_too(visits):
    base = NonnegativeModel(3, user_reg=1.0, item_reg=1.0, unobserved="auto", max_iter=5)
    bag = bagged(visits, 3, model=base, random_state=0)
    assert isinstance(bag, NonnegativeModel)
    assert bag.n_events == 9
    assert bag.unobserved == "auto"
    assert ((bag.psi_ > 0) & (bag.psi_ < 1)).any()
    assert bag.fold_in(visits).shape == (visits.n_users, 9)
    with pytest.raises(ParameterError, match="'model' must be a KolmogorovModel or a NonnegativeModel, got SVDpp"):
        bagged(visits, 2, model=SVDpp())


def test_averages_of_many_events_place_guests(zoo):
    from kolmogorov.model.averaging import averaged_model

    one = KolmogorovModel(3, user_reg=0.3, random_state=0).fit(zoo)
    copies = 200
    theta, psi = np.tile(one.theta_ / copies, copies), np.tile(one.psi_, copies)
    many = averaged_model(theta, psi, zoo, one)
    assert many.n_events == 600
    assert many.fold_in(zoo).shape == (zoo.n_users, 600)
    assert len(many.recommend(guest={"milk": 1}, n=2)) == 2
