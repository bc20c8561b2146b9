"""Noise of libraries, as `dpregret audit docs/examples/libraries.py:NAME` reads it: a dozen lines each."""

import numpy as np


def jax_privacy(rounds, sensitivity, epsilon, delta, participations, separation):
    """Buffers of jax-privacy 2.0 at the sensitivity that jax-privacy computes; run with JAX_ENABLE_X64=1."""
    import dp_accounting
    from jax_privacy.matrix_factorization import buffered_toeplitz
    from jax_privacy.matrix_factorization.sensitivity import get_min_sep_sensitivity_upper_bound as bound

    buffers = buffered_toeplitz.BufferedToeplitz.from_rational_approx_to_sqrt_x(num_buffers=3)
    moved = float(bound(buffers.materialize(rounds), min_sep=separation, max_participations=participations))
    sd = moved * sensitivity * dp_accounting.get_sigma_gaussian(epsilon, delta)
    return buffers.inverse_as_streaming_matrix(), sd


def opendp(rounds, sensitivity, epsilon, delta):
    """Gaussian noise on every item at the scale that OpenDP 0.16 finds: its draws are its own, its scale is audited."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)

    def released(scale):
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale)), delta)

    scale = dp.binary_search_param(released, d_in=sensitivity, d_out=(epsilon, delta), T=float)
    return lambda generator, dimension: np.cumsum(generator.normal(0, scale, size=(rounds, dimension)), axis=0)


def own(rounds, sensitivity):
    """Your own: what is added to the sum of the first t items, row by row."""
    sd = 10.0 * sensitivity

    def noise(generator, dimension):
        fresh = generator.standard_normal((rounds, dimension))
        return sd * (np.cumsum(fresh, axis=0) + generator.standard_normal((rounds, dimension)))

    return noise
