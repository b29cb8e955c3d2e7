"""What belongs to `tangrad.checkpoint`: names for values, and a look at what a gradient keeps."""

from tangrad.checkpointing.functions import checkpoint as checkpoint
from tangrad.checkpointing.functions import remat as remat
from tangrad.checkpointing.names import checkpoint_name as checkpoint_name
from tangrad.checkpointing.policies import Offloadable as Offloadable
from tangrad.checkpointing.policies import Recompute as Recompute
from tangrad.checkpointing.policies import Saveable as Saveable
from tangrad.checkpointing.policies import checkpoint_policies as checkpoint_policies
from tangrad.checkpointing.residuals import print_saved_residuals as print_saved_residuals
from tangrad.checkpointing.residuals import saved_residuals as saved_residuals
