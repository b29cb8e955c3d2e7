"""The functions of the family `structure`, by group; this module hands their names on."""

from tangrad._lax.structure.functions.creation import broadcasted_iota as broadcasted_iota
from tangrad._lax.structure.functions.creation import concatenate, dtype, pad, shape_as_value, stack, stage, tile
from tangrad._lax.structure.functions.creation import empty as empty
from tangrad._lax.structure.functions.creation import full as full
from tangrad._lax.structure.functions.creation import full_like as full_like
from tangrad._lax.structure.functions.creation import iota as iota
from tangrad._lax.structure.functions.creation import optimization_barrier as optimization_barrier
from tangrad._lax.structure.functions.creation import stop_gradient as stop_gradient
from tangrad._lax.structure.functions.creation import zeros_like_array as zeros_like_array
from tangrad._lax.structure.functions.parts import dynamic_index_in_dim as dynamic_index_in_dim
from tangrad._lax.structure.functions.parts import dynamic_slice as dynamic_slice
from tangrad._lax.structure.functions.parts import dynamic_slice_in_dim as dynamic_slice_in_dim
from tangrad._lax.structure.functions.parts import dynamic_update_index_in_dim as dynamic_update_index_in_dim
from tangrad._lax.structure.functions.parts import dynamic_update_slice as dynamic_update_slice
from tangrad._lax.structure.functions.parts import dynamic_update_slice_in_dim as dynamic_update_slice_in_dim
from tangrad._lax.structure.functions.parts import index_in_dim as index_in_dim
from tangrad._lax.structure.functions.parts import slice as slice
from tangrad._lax.structure.functions.parts import slice_in_dim as slice_in_dim
from tangrad._lax.structure.functions.parts import split as split
from tangrad._lax.structure.functions.parts import unstack as unstack
from tangrad._lax.structure.functions.shapes import broadcast as broadcast
from tangrad._lax.structure.functions.shapes import broadcast_in_dim as broadcast_in_dim
from tangrad._lax.structure.functions.shapes import broadcast_like as broadcast_like
from tangrad._lax.structure.functions.shapes import broadcast_shapes as broadcast_shapes
from tangrad._lax.structure.functions.shapes import broadcast_to_rank as broadcast_to_rank
from tangrad._lax.structure.functions.shapes import collapse as collapse
from tangrad._lax.structure.functions.shapes import expand_dims as expand_dims
from tangrad._lax.structure.functions.shapes import reshape as reshape
from tangrad._lax.structure.functions.shapes import rev as rev
from tangrad._lax.structure.functions.shapes import squeeze as squeeze
from tangrad._lax.structure.functions.shapes import transpose as transpose
