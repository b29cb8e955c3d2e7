"""`xmap` and what belongs to it, under the name that JAX has for them."""

from tangrad._xmap.functions import xmap as xmap
from tangrad._xmap.resources import ResourceSet as ResourceSet
from tangrad._xmap.resources import SerialLoop as SerialLoop
from tangrad._xmap.resources import serial_loop as serial_loop
from tangrad._xmap.specs import AxisName as AxisName
from tangrad._xmap.variation import ResourceClashError as ResourceClashError
from tangrad.extend.sharding import Mesh as Mesh
