"""`xmap` and what belongs to it, under the name that JAX has for them."""

from tangrad._sharding.xmap.axes import AxisName as AxisName
from tangrad._sharding.xmap.axes import ResourceSet as ResourceSet
from tangrad._sharding.xmap.axes import SerialLoop as SerialLoop
from tangrad._sharding.xmap.axes import serial_loop as serial_loop
from tangrad._sharding.xmap.functions import xmap as xmap
from tangrad._sharding.xmap.variation import ResourceClashError as ResourceClashError
from tangrad.extend.sharding import Mesh as Mesh
