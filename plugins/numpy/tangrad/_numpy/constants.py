"""Numbers with names: `tangrad.numpy.pi`, `inf`, `nan`, …"""

from __future__ import annotations

import numpy as np

pi: float = np.pi
e: float = np.e
euler_gamma: float = np.euler_gamma
inf: float = np.inf
nan: float = np.nan
newaxis = None
