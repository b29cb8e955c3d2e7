"""`xmap` and what belongs to it, under the name that JAX has for them."""

from tangrad.shardings.mesh import Mesh as Mesh
from tangrad.xmapping.functions import xmap as xmap
from tangrad.xmapping.resources import ResourceSet as ResourceSet
from tangrad.xmapping.resources import SerialLoop as SerialLoop
from tangrad.xmapping.resources import serial_loop as serial_loop
from tangrad.xmapping.specs import AxisName as AxisName
