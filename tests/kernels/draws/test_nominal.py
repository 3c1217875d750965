"""Draws of events and of chances of answers without order, beside slow twins with the same random numbers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import naive
from kolmogorov._support.seeds import row_seeds
from kolmogorov.kernels.draws.gibbs import gamma, uniform
from kolmogorov.kernels.draws.nominal import draw_chances, draw_events
from kolmogorov.sampling.nominal import _WEIGHTS, NominalDraws, usual_shares, weight_logs


@st.composite
def answered(draw):
    """Answers to items with some categories each, some missing, and chances in some events."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n_items, n_events = (draw(st.integers(1, most)) for most in (6, 4, 4))
    widths = rng.integers(1, 5, size=n_items)
    answers = rng.integers(-1, widths, size=(n_rows, n_items)).astype(np.int16)
    logs = np.full((n_items, n_events, widths.max()), -np.inf)
    for i, width in enumerate(widths):
        logs[i, :, :width] = np.log(rng.dirichlet(np.ones(width), n_events))
    return answers, widths, logs, np.log(rng.dirichlet(np.ones(n_events))), rng


@given(answered(), st.floats(0.1, 1.0))
def test_events_are_drawn_as_all_answers_say(case, sharpness):
    answers, _, logs, log_shares, _ = case
    seeds = row_seeds(3, 1, 0, np.arange(len(answers)))
    found = np.empty(len(answers), dtype=np.int64)
    draw_events(answers, logs, log_shares, sharpness, seeds, 0, len(answers), found)
    for row, seed, event in zip(answers, seeds, found, strict=True):
        upto = np.cumsum(naive.event_chances(row, logs, log_shares, sharpness))
        _, u = uniform(seed)
        assert event == min(int((upto < u * upto[-1]).sum()), len(upto) - 1) or np.abs(upto - u).min() < 1e-9


@given(answered())
def test_chances_are_dirichlet_given_the_events(case):
    answers, widths, logs, log_shares, rng = case
    events = rng.integers(log_shares.size, size=len(answers))
    prior = 2.0 * usual_shares(answers, widths)
    seeds = row_seeds(3, 1, 1, np.arange(len(widths)))
    found = np.empty_like(logs)
    draw_chances(np.ascontiguousarray(answers.T), events, prior, widths, seeds, 0, len(widths), found)
    for i, width in enumerate(widths):
        wanted = naive.drawn_chances(answers[:, i], events, prior[i, :width], log_shares.size, seeds[i], gamma)
        np.testing.assert_allclose(np.exp(found[i, :, :width]), wanted, rtol=1e-9)
        assert (found[i, :, width:] == -np.inf).all()


@given(answered(), st.integers(1, 3))
def test_what_draws_say_of_a_row(case, n_draws):
    answers, widths, logs, log_shares, rng = case
    several = np.stack([logs[:, rng.permutation(log_shares.size)] for _ in range(n_draws)]).astype(np.float32)
    shares = np.stack([log_shares] * n_draws)
    draws = NominalDraws(several, shares, widths)
    for i, found in enumerate(draws.said(answers, range(len(widths)))):
        np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-6)
        for row, chances in zip(answers, found, strict=True):
            wanted = naive.nominal_distribution(several.astype(float), shares, row, i, widths[i])
            np.testing.assert_allclose(chances, wanted, rtol=1e-9)


@given(answered())
def test_the_density_of_chances_given_the_priors_weight(case):
    answers, widths, logs, _, _ = case
    usual = usual_shares(answers, widths)
    wanted = np.zeros(_WEIGHTS.size)
    for k, weight in enumerate(_WEIGHTS):
        for i, width in enumerate(widths):
            for chances in np.exp(logs[i, :, :width]):
                if width > 1:
                    wanted[k] += stats.dirichlet.logpdf(chances / chances.sum(), weight * usual[i, :width])
    np.testing.assert_allclose(weight_logs(logs, usual), wanted - wanted.max(), atol=1e-6 * (1 + np.abs(wanted).max()))
