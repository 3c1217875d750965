"""A bag of point estimates is their mean."""

import numpy as np

from kolmogorov import KolmogorovModel, bagged


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
