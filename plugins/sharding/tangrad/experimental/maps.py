"""`xmap` and what belongs to it, under the name that JAX has for them."""

from tangrad._sharding.xmap.functions import xmap as xmap
from tangrad._sharding.xmap.resources import ResourceSet as ResourceSet
from tangrad._sharding.xmap.resources import SerialLoop as SerialLoop
from tangrad._sharding.xmap.resources import serial_loop as serial_loop
from tangrad._sharding.xmap.specs import AxisName as AxisName
from tangrad._sharding.xmap.variation import ResourceClashError as ResourceClashError
from tangrad.extend.sharding import Mesh as Mesh
