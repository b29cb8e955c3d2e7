"""Rotations of space as quaternions: `tangrad.scipy.spatial.transform.Rotation` and `Slerp`.

Quaternions are (x, y, z, w), of norm 1. Sources: Shuster, A survey of attitude representations, J. Astronaut. Sci. 41
(1993); Bernardes and Viollet, Quaternion to Euler angles conversion, PLoS ONE 17 (2022); Markley et al., Averaging
quaternions, J. Guid. Control Dyn. 30 (2007).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import tangrad.numpy as tnp
from tangrad.core import class_boundary, dtypes
from tangrad.extend.numpy import asarray, eigh, promote_inexact, searchsorted
from tangrad.extend.random import normal

if TYPE_CHECKING:
    from tangrad.core import Array
    from tangrad.typing import ArrayLike, DTypeLike, Value


def _floating(value: ArrayLike) -> Value:
    return asarray(promote_inexact("Rotation", asarray(value))[0])


def _rows(name: str, value: ArrayLike, size: int) -> Value:
    made = _floating(value)
    if made.ndim not in (1, 2) or made.shape[-1] != size:
        raise ValueError(f"Rotation.{name} takes an array ({size},) or (n, {size}), got shape {made.shape}")
    return made


def _unit(quaternion: Value) -> Value:
    return quaternion / tnp.linalg.norm(quaternion, axis=-1, keepdims=True)


def _product(p: Array, q: Array) -> Array:
    """The quaternion of first q, then p."""
    a, b = p[..., :3], q[..., :3]
    vector = p[..., 3:] * b + q[..., 3:] * a + tnp.cross(a, b)
    return tnp.concatenate([vector, p[..., 3:] * q[..., 3:] - (a * b).sum(-1, keepdims=True)], -1)


def _upper(quaternion: Array) -> Array:
    """Of the two quaternions of a rotation the one with w ≥ 0."""
    return tnp.where(quaternion[..., 3:] < 0, -quaternion, quaternion)


def _axes(name: str, seq: str) -> tuple[list[int], bool]:
    """The axes of a sequence as numbers, and whether they turn with the body."""
    if not isinstance(seq, str) or not 1 <= len(seq) <= 3 or not (set(seq) <= set("xyz") or set(seq) <= set("XYZ")):
        raise ValueError(f"Rotation.{name}: seq must be up to three of xyz, or of XYZ, got {seq!r}")
    axes = ["xyz".index(letter) for letter in seq.lower()]
    if any(one == other for one, other in itertools.pairwise(axes)):
        raise ValueError(f"Rotation.{name}: neighbours in seq must differ, got {seq!r}")
    return axes, seq.isupper()


@class_boundary
class Rotation(NamedTuple):
    """Rotations of space.

    Attributes:
        quat: their quaternions (x, y, z, w), an array (4,) or (n, 4), of norm 1.

    >>> import tangrad.numpy as np
    >>> from tangrad.scipy.spatial.transform import Rotation
    >>> np.round(Rotation.from_euler("z", 90, degrees=True).apply(np.array([1.0, 0.0, 0.0])), 3)
    Array([0., 1., 0.], dtype=float32)
    """

    quat: Any

    @classmethod
    def from_quat(cls, quat: ArrayLike) -> Rotation:
        """The rotations of quaternions (x, y, z, w), which need not have the norm 1."""
        return cls(_unit(_rows("from_quat", quat, 4)))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Rotation:
        """The rotations of orthogonal matrices, an array (3, 3) or (n, 3, 3)."""
        m = _floating(matrix)
        if m.ndim not in (2, 3) or m.shape[-2:] != (3, 3):
            raise ValueError(f"Rotation.from_matrix takes an array (3, 3) or (n, 3, 3), got shape {m.shape}")
        # Four times the products of each component with all: the row of the greatest one is divided well.
        trace = m[..., 0, 0] + m[..., 1, 1] + m[..., 2, 2]
        rows = []
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            row: list[Any] = [None] * 4
            row[i] = 1 - trace + 2 * m[..., i, i]
            row[j], row[k] = m[..., j, i] + m[..., i, j], m[..., k, i] + m[..., i, k]
            row[3] = m[..., k, j] - m[..., j, k]
            rows.append(tnp.stack(row, -1))
        rows.append(tnp.stack([*[rows[i][..., 3] for i in range(3)], 1 + trace], -1))
        products = tnp.stack(rows, -2)
        diagonal = tnp.diagonal(products, axis1=-2, axis2=-1)
        best = tnp.argmax(diagonal, -1)[..., None, None]
        return cls(_unit(tnp.take_along_axis(products, best, -2)[..., 0, :]))

    @classmethod
    def from_rotvec(cls, rotvec: ArrayLike, degrees: bool = False) -> Rotation:
        """The rotations about vectors by as much as their norms say, in radians or degrees."""
        vector = _rows("from_rotvec", rotvec, 3)
        vector = tnp.deg2rad(vector) if degrees else vector
        square = (vector**2).sum(-1, keepdims=True)
        near = square < 1e-6
        angle = tnp.sqrt(tnp.where(near, 1.0, square))
        scale = tnp.where(near, 0.5 - square / 48, tnp.sin(0.5 * angle) / angle)
        cosine = tnp.where(near, 1 - square / 8, tnp.cos(0.5 * angle))
        return cls(tnp.concatenate([vector * scale, cosine], -1))

    @classmethod
    def from_mrp(cls, mrp: ArrayLike) -> Rotation:
        """The rotations of modified Rodrigues parameters, tan(angle / 4) times the axis."""
        vector = _rows("from_mrp", mrp, 3)
        square = (vector**2).sum(-1, keepdims=True)
        return cls(tnp.concatenate([2 * vector, 1 - square], -1) / (1 + square))

    @classmethod
    def from_euler(cls, seq: str, angles: ArrayLike, degrees: bool = False) -> Rotation:
        """The rotations of Euler's angles: about "xyz", axes that stay, or "XYZ", axes that turn with the body.

        One axis takes a number or an array (n,); several an array (k,) or (n, k).
        """
        axes, intrinsic = _axes("from_euler", seq)
        turns = _floating(angles)
        if len(axes) == 1 and (not turns.ndim or turns.shape[-1] != 1 or turns.ndim == 1):
            turns = turns[..., None]
        if turns.ndim not in (1, 2) or turns.shape[-1] != len(axes):
            raise ValueError(
                f"Rotation.from_euler: angles must have {len(axes)} columns for {seq!r}, got {turns.shape}"
            )
        turns = tnp.deg2rad(turns) if degrees else turns
        found: Any = None
        for place, axis in enumerate(axes):
            half = 0.5 * turns[..., place]
            parts = [tnp.sin(half) if i == axis else tnp.zeros_like(half) for i in range(3)]
            one = tnp.stack([*parts, tnp.cos(half)], -1)
            found = one if found is None else _product(found, one) if intrinsic else _product(one, found)
        return cls(found.astype(found.dtype))  # numbers are no longer weakly typed

    @classmethod
    def identity(cls, num: int | None = None, dtype: DTypeLike = float) -> Rotation:
        """The rotation that leaves all as it is, or `num` of it."""
        one = tnp.array([0, 0, 0, 1], dtype)
        return cls(one if num is None else tnp.tile(one, (num, 1)))

    @classmethod
    def random(cls, random_key: Array, num: int | None = None) -> Rotation:
        """A rotation drawn from all alike, or `num` of them."""
        return cls(_unit(normal(random_key, (4,) if num is None else (num, 4))))

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """The rotations of several, one after the other."""
        for one in rotations:
            if not isinstance(one, Rotation):
                raise TypeError(f"Rotation.concatenate takes rotations, got {one!r}")
        return cls(tnp.concatenate([tnp.atleast_2d(one.quat) for one in rotations]))

    @property
    def single(self) -> bool:
        """Whether this is one rotation, and not an array of them."""
        return self.quat.ndim == 1

    def __len__(self) -> int:
        if self.single:
            raise TypeError("a single rotation has no length")
        return self.quat.shape[0]

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, indexer: object) -> Rotation:
        if self.single:
            raise TypeError("a single rotation is not subscriptable")
        return Rotation(self.quat[indexer])

    def __mul__(self, other: object) -> Rotation:
        """First `other`, then this rotation."""
        return Rotation(_product(self.quat, other.quat)) if isinstance(other, Rotation) else NotImplemented

    def apply(self, vectors: ArrayLike, inverse: bool = False) -> Array:
        """Vectors turned, an array (3,) or (n, 3), by one rotation or as many; by the inverse ones if asked."""
        given = _rows("apply", vectors, 3)
        if given.ndim == 2 and not self.single and 1 != given.shape[0] != len(self) != 1:
            raise ValueError(f"Rotation.apply: {len(self)} rotations do not fit {given.shape[0]} vectors")
        matrix = self.as_matrix()
        return tnp.einsum("...kj,...k->...j" if inverse else "...jk,...k->...j", matrix, given)

    def inv(self) -> Rotation:
        """The inverse rotations."""
        return Rotation(self.quat * tnp.array([-1, -1, -1, 1], self.quat.dtype))

    def magnitude(self) -> Array:
        """The angles by which they turn, from 0 to π."""
        return 2 * tnp.arctan2(tnp.linalg.norm(self.quat[..., :3], axis=-1), abs(self.quat[..., 3]))

    def mean(self, weights: ArrayLike | None = None) -> Rotation:
        """The rotation that is nearest to all: the sum of the squares of the sines of half the angles is least."""
        quaternions = tnp.atleast_2d(self.quat)
        factors = tnp.ones(quaternions.shape[0], quaternions.dtype) if weights is None else _floating(weights)
        if factors.shape != quaternions.shape[:1]:
            raise ValueError(f"Rotation.mean: weights must have the shape {quaternions.shape[:1]}, got {factors.shape}")
        return Rotation(eigh(tnp.einsum("w,wi,wj->ij", factors, quaternions, quaternions))[1][:, -1])

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Value:
        """Their quaternions; `canonical`: with w ≥ 0; `scalar_first`: as (w, x, y, z)."""
        found = _upper(self.quat) if canonical else self.quat
        return tnp.roll(found, 1, -1) if scalar_first else found

    def as_matrix(self) -> Value:
        """Their matrices, an array (3, 3) or (n, 3, 3)."""
        x, y, z, w = [self.quat[..., i] for i in range(4)]
        rows = [
            [w * w + x * x - y * y - z * z, 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), w * w - x * x + y * y - z * z, 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), w * w - x * x - y * y + z * z],
        ]
        return tnp.stack([tnp.stack(row, -1) for row in rows], -2)

    def as_mrp(self) -> Array:
        """Their modified Rodrigues parameters, tan(angle / 4) times the axis."""
        quaternion = _upper(self.quat)
        return quaternion[..., :3] / (1 + quaternion[..., 3:])

    def as_rotvec(self, degrees: bool = False) -> Array:
        """Their axes times their angles, in radians or degrees."""
        quaternion = _upper(self.quat)
        vector, cosine = quaternion[..., :3], quaternion[..., 3:]
        square = (vector**2).sum(-1, keepdims=True)
        near = square < 1e-6
        sine = tnp.sqrt(tnp.where(near, 1.0, square))
        # 2 asin(s) / s near 0, where the quotient has no derivative.
        scale = tnp.where(near, 2 + square / 3, 2 * tnp.arctan2(sine, cosine) / sine)
        return tnp.rad2deg(vector * scale) if degrees else vector * scale

    def as_euler(self, seq: str, degrees: bool = False) -> Array:
        """Their Euler angles about three axes, as for `from_euler`; where one is not determined, the third is 0."""
        axes, intrinsic = _axes("as_euler", seq)
        if len(axes) != 3:
            raise ValueError(f"Rotation.as_euler: seq must name three axes, got {seq!r}")
        i, j, k = axes[::-1] if intrinsic else axes
        proper = i == k
        other = 3 - i - j
        sign = (i - j) * (j - other) * (other - i) // 2
        q = self.quat
        # About i, j, i the quaternion is cos(θ₂/2) (cos h, sin h) and sin(θ₂/2) (cos d, sin d), with half the sum h and
        # half the difference d of the other angles. Another third axis becomes that by a quarter turn about j.
        if proper:
            a, b, c, e = q[..., 3], q[..., i], q[..., j], q[..., other] * sign
        else:
            a, b = q[..., 3] - q[..., j], q[..., i] + q[..., k] * sign
            c, e = q[..., j] + q[..., 3], q[..., k] * sign - q[..., i]
        middle = 2 * tnp.arctan2(tnp.hypot(c, e), tnp.hypot(a, b))
        half_sum, half_difference = tnp.arctan2(b, a), tnp.arctan2(e, c)
        limit = 1e-7 if dtypes.finfo(q.dtype).bits >= 64 else 1e-3
        at_start, at_end = abs(middle) <= limit, abs(middle - math.pi) <= limit
        known = ~(at_start | at_end)
        if intrinsic:
            first = tnp.where(known, half_sum - half_difference, 0.0)
            last = tnp.where(at_start, 2 * half_sum, 2 * half_difference)
            last = tnp.where(known, half_sum + half_difference, last)
        else:
            last = tnp.where(known, half_sum + half_difference, 0.0)
            first = tnp.where(at_start, 2 * half_sum, -2 * half_difference)
            first = tnp.where(known, half_sum - half_difference, first)
        if not proper:
            middle, last = middle - 0.5 * math.pi, last * sign
        angles = tnp.stack([last, middle, first] if intrinsic else [first, middle, last], -1)
        angles = tnp.where(angles > math.pi, angles - 2 * math.pi, angles)
        angles = tnp.where(angles < -math.pi, angles + 2 * math.pi, angles)
        return tnp.rad2deg(angles) if degrees else angles


@class_boundary
class Slerp(NamedTuple):
    """Rotations between rotations: each goes over to the next about one axis, at a constant speed.

    Attributes:
        times: when the rotations are taken, an ascending array (n,).
        timedelta: the differences of these, an array (n - 1,).
        rotations: the rotations but the last.
        rotvecs: from each rotation to the next, as a vector.

    >>> import tangrad.numpy as np
    >>> from tangrad.scipy.spatial.transform import Rotation, Slerp
    >>> way = Slerp.init(np.array([0.0, 1.0]), Rotation.from_euler("z", np.array([0.0, 90.0]), degrees=True))
    >>> f"{way(0.5).as_euler('xyz', degrees=True)[2]:.1f}"
    '45.0'
    """

    times: Value
    timedelta: Value
    rotations: Rotation
    rotvecs: Value

    @classmethod
    def init(cls, times: ArrayLike, rotations: Rotation) -> Slerp:
        """The way through rotations at given times."""
        if not isinstance(rotations, Rotation) or rotations.single or len(rotations) < 2:
            raise ValueError("Slerp: rotations must be two or more")
        places = _floating(times)
        if places.shape != (len(rotations),):
            raise ValueError(f"Slerp: times must have the shape {(len(rotations),)}, got {places.shape}")
        starts, ends = Rotation(rotations.quat[:-1]), Rotation(rotations.quat[1:])
        return cls(places, places[1:] - places[:-1], starts, (starts.inv() * ends).as_rotvec())

    def __call__(self, times: ArrayLike) -> Rotation:
        """The rotations at times, a number or an array (m,)."""
        places = _floating(times)
        if places.ndim > 1:
            raise ValueError(f"Slerp: times must have one dimension at most, got shape {places.shape}")
        index = tnp.clip(searchsorted(self.times, places) - 1, 0, self.timedelta.shape[0] - 1)
        share = (places - self.times[index]) / self.timedelta[index]
        return Rotation(self.rotations.quat[index]) * Rotation.from_rotvec(self.rotvecs[index] * share[..., None])
