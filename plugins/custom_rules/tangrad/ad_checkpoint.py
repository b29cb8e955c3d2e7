"""What belongs to `tangrad.checkpoint`: names for values, and a look at what a gradient keeps."""

from tangrad._custom_rules.checkpoint.functions import checkpoint as checkpoint
from tangrad._custom_rules.checkpoint.functions import print_saved_residuals as print_saved_residuals
from tangrad._custom_rules.checkpoint.functions import remat as remat
from tangrad._custom_rules.checkpoint.functions import saved_residuals as saved_residuals
from tangrad._custom_rules.checkpoint.policies import Offloadable as Offloadable
from tangrad._custom_rules.checkpoint.policies import Recompute as Recompute
from tangrad._custom_rules.checkpoint.policies import Saveable as Saveable
from tangrad._custom_rules.checkpoint.policies import checkpoint_name as checkpoint_name
from tangrad._custom_rules.checkpoint.policies import checkpoint_policies as checkpoint_policies

checkpoint_name_fwd = checkpoint_name  # names are those of values here, never of their tangents
