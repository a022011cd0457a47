"""Identities that make the operators and proximal maps what they claim to be."""

import numpy as np
import pytest
import scipy.sparse as sparse
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse.linalg import spsolve

from varfocus.energy.operators import (
    K_NORM_SQUARED,
    K,
    K_adjoint,
    ScreenedPoisson,
    dct_matrix,
    magnitude,
    norm_21,
    project,
    shrink,
)

sizes = st.tuples(st.integers(1, 17), st.integers(1, 17))


def difference_matrix(n: int) -> sparse.csr_matrix:
    matrix = sparse.diags([-np.ones(n), np.ones(n - 1)], [0, 1]).tolil()
    matrix[n - 1, :] = 0
    return matrix.tocsr()


@given(sizes, st.integers(0, 2**31))
def test_K_adjoint_is_the_adjoint_of_K(size, seed):
    rng = np.random.default_rng(seed)
    d, g = rng.standard_normal(size), rng.standard_normal((2, *size))
    assert np.vdot(K(d), g) == pytest.approx(np.vdot(d, K_adjoint(g)), abs=1e-12)


@given(sizes, st.integers(0, 2**31))
def test_K_is_the_forward_difference_matrix(size, seed):
    d = np.random.default_rng(seed).standard_normal(size)
    height, width = size
    np.testing.assert_allclose(K(d)[0], d @ difference_matrix(width).T.toarray(), atol=1e-14)
    np.testing.assert_allclose(K(d)[1], difference_matrix(height) @ d, atol=1e-14)


def test_norm_of_K_is_bounded(rng):
    d = rng.standard_normal((40, 40))
    for _ in range(200):
        d = K_adjoint(K(d))
        norm = np.linalg.norm(d)
        d /= norm
    assert 7.9 < norm < K_NORM_SQUARED


@given(sizes, st.floats(0, 1e3), st.integers(0, 2**31))
def test_screened_poisson_equals_a_sparse_direct_solve(size, lam, seed):
    height, width = size
    r = np.random.default_rng(seed).standard_normal(size)
    along_x = sparse.kron(sparse.eye(height), difference_matrix(width))
    along_y = sparse.kron(difference_matrix(height), sparse.eye(width))
    system = sparse.eye(height * width) + lam * (along_x.T @ along_x + along_y.T @ along_y)
    expected = spsolve(system.tocsc(), r.ravel()).reshape(size)
    np.testing.assert_allclose(ScreenedPoisson(r).solve(r, lam), expected, atol=1e-9)


def test_dct_matrix_is_orthonormal_and_agrees_with_scipy(rng):
    from scipy.fft import dct

    basis, x = dct_matrix(13), rng.standard_normal(13)
    np.testing.assert_allclose(basis @ basis.T, np.eye(13), atol=1e-14)
    np.testing.assert_allclose(basis @ x, dct(x, norm="ortho"), atol=1e-14)


@pytest.mark.parametrize("threshold", [0.0, 0.3, 2.0])
def test_shrink_minimises_its_proximal_problem(rng, threshold):
    z = rng.standard_normal((2, 3, 4))
    g = shrink(z, threshold)
    for i, j in np.ndindex(3, 4):

        def objective(v, i=i, j=j):
            return 0.5 * np.sum((v - z[:, i, j]) ** 2) + threshold * np.hypot(*v)

        brute = minimize(objective, z[:, i, j], method="Nelder-Mead", tol=1e-10)
        assert objective(g[:, i, j]) <= brute.fun + 1e-9
        np.testing.assert_allclose(g[:, i, j], brute.x, atol=2e-4)


def test_shrink_of_zero_is_zero():
    assert not shrink(np.zeros((2, 2, 2)), 0.0).any()


@given(sizes, st.floats(0, 3), st.integers(0, 2**31))
def test_moreau_identity(size, t, seed):
    z = np.random.default_rng(seed).standard_normal((2, *size))
    np.testing.assert_allclose(shrink(z, t) + project(z, t), z, atol=1e-12)
    assert magnitude(project(z, t)).max() <= t * (1 + 1e-12)


def test_norm_21_of_a_known_field():
    g = np.zeros((2, 2, 2))
    g[:, 0, 0] = 3, 4
    g[0, 1, 1] = -2
    assert norm_21(g) == pytest.approx(7.0)
