"""What authors implement, as types: rules of each kind, traces, backends, hook objects. For editors and type checkers.

>>> from tangrad.core.protocols import LoweringRule
"""

from tangrad.kernel.hook_protocols import ApiProvider as ApiProvider
from tangrad.kernel.hook_protocols import ApplicationPolicy as ApplicationPolicy
from tangrad.kernel.hook_protocols import ArrayAttributeProvider as ArrayAttributeProvider
from tangrad.kernel.hook_protocols import BackendProvider as BackendProvider
from tangrad.kernel.hook_protocols import CacheHitObserver as CacheHitObserver
from tangrad.kernel.hook_protocols import CacheMissObserver as CacheMissObserver
from tangrad.kernel.hook_protocols import CommandProvider as CommandProvider
from tangrad.kernel.hook_protocols import CompilationObserver as CompilationObserver
from tangrad.kernel.hook_protocols import EntryProvider as EntryProvider
from tangrad.kernel.hook_protocols import JaxprPass as JaxprPass
from tangrad.kernel.hook_protocols import LoweringObserver as LoweringObserver
from tangrad.kernel.hook_protocols import NameProvider as NameProvider
from tangrad.kernel.hook_protocols import PrimitiveProvider as PrimitiveProvider
from tangrad.kernel.hook_protocols import RuleKindProvider as RuleKindProvider
from tangrad.kernel.hook_protocols import RuleProvider as RuleProvider
from tangrad.kernel.hook_protocols import SettingProvider as SettingProvider
from tangrad.kernel.hook_protocols import TraceObserver as TraceObserver
from tangrad.kernel.protocols import RULES as RULES
from tangrad.kernel.protocols import AxisInfo as AxisInfo
from tangrad.kernel.protocols import AxisSubstRule as AxisSubstRule
from tangrad.kernel.protocols import Backend as Backend
from tangrad.kernel.protocols import BatchRule as BatchRule
from tangrad.kernel.protocols import CheckifyRule as CheckifyRule
from tangrad.kernel.protocols import Coordination as Coordination
from tangrad.kernel.protocols import DceRule as DceRule
from tangrad.kernel.protocols import Executable as Executable
from tangrad.kernel.protocols import JvpRule as JvpRule
from tangrad.kernel.protocols import Linearized as Linearized
from tangrad.kernel.protocols import LinearizeRule as LinearizeRule
from tangrad.kernel.protocols import Lowered as Lowered
from tangrad.kernel.protocols import LoweringRule as LoweringRule
from tangrad.kernel.protocols import MaskRule as MaskRule
from tangrad.kernel.protocols import PartialEval as PartialEval
from tangrad.kernel.protocols import PartialEvalRule as PartialEvalRule
from tangrad.kernel.protocols import PortableRule as PortableRule
from tangrad.kernel.protocols import Primitive as Primitive
from tangrad.kernel.protocols import RecomputeRule as RecomputeRule
from tangrad.kernel.protocols import ReplicationRule as ReplicationRule
from tangrad.kernel.protocols import ShardingRule as ShardingRule
from tangrad.kernel.protocols import SplitAxisRule as SplitAxisRule
from tangrad.kernel.protocols import Trace as Trace
from tangrad.kernel.protocols import Tracer as Tracer
from tangrad.kernel.protocols import TransposeRule as TransposeRule
from tangrad.kernel.protocols import members as members
