"""What authors implement, as types: rules of each kind, traces, backends, hook objects. For editors and type checkers.

>>> from tangrad.core.protocols import LoweringRule
"""

from tangrad._core.kernel.hook_protocols import ApiProvider as ApiProvider
from tangrad._core.kernel.hook_protocols import ApplicationPolicy as ApplicationPolicy
from tangrad._core.kernel.hook_protocols import ArrayAttributeProvider as ArrayAttributeProvider
from tangrad._core.kernel.hook_protocols import BackendProvider as BackendProvider
from tangrad._core.kernel.hook_protocols import CacheHitObserver as CacheHitObserver
from tangrad._core.kernel.hook_protocols import CacheMissObserver as CacheMissObserver
from tangrad._core.kernel.hook_protocols import CommandProvider as CommandProvider
from tangrad._core.kernel.hook_protocols import CompilationObserver as CompilationObserver
from tangrad._core.kernel.hook_protocols import EntryProvider as EntryProvider
from tangrad._core.kernel.hook_protocols import JaxprPass as JaxprPass
from tangrad._core.kernel.hook_protocols import LoweringObserver as LoweringObserver
from tangrad._core.kernel.hook_protocols import NameProvider as NameProvider
from tangrad._core.kernel.hook_protocols import PrimitiveProvider as PrimitiveProvider
from tangrad._core.kernel.hook_protocols import RuleKindProvider as RuleKindProvider
from tangrad._core.kernel.hook_protocols import RuleProvider as RuleProvider
from tangrad._core.kernel.hook_protocols import SettingProvider as SettingProvider
from tangrad._core.kernel.hook_protocols import TraceObserver as TraceObserver
from tangrad._core.kernel.protocols import RULES as RULES
from tangrad._core.kernel.protocols import AxisInfo as AxisInfo
from tangrad._core.kernel.protocols import AxisSubstRule as AxisSubstRule
from tangrad._core.kernel.protocols import Backend as Backend
from tangrad._core.kernel.protocols import BatchRule as BatchRule
from tangrad._core.kernel.protocols import CheckifyRule as CheckifyRule
from tangrad._core.kernel.protocols import Coordination as Coordination
from tangrad._core.kernel.protocols import DceRule as DceRule
from tangrad._core.kernel.protocols import Executable as Executable
from tangrad._core.kernel.protocols import JvpRule as JvpRule
from tangrad._core.kernel.protocols import Linearized as Linearized
from tangrad._core.kernel.protocols import LinearizeRule as LinearizeRule
from tangrad._core.kernel.protocols import Lowered as Lowered
from tangrad._core.kernel.protocols import LoweringRule as LoweringRule
from tangrad._core.kernel.protocols import MaskRule as MaskRule
from tangrad._core.kernel.protocols import PartialEval as PartialEval
from tangrad._core.kernel.protocols import PartialEvalRule as PartialEvalRule
from tangrad._core.kernel.protocols import PortableRule as PortableRule
from tangrad._core.kernel.protocols import Primitive as Primitive
from tangrad._core.kernel.protocols import RecomputeRule as RecomputeRule
from tangrad._core.kernel.protocols import ReplicationRule as ReplicationRule
from tangrad._core.kernel.protocols import ShardingRule as ShardingRule
from tangrad._core.kernel.protocols import SplitAxisRule as SplitAxisRule
from tangrad._core.kernel.protocols import Trace as Trace
from tangrad._core.kernel.protocols import Tracer as Tracer
from tangrad._core.kernel.protocols import TransposeRule as TransposeRule
from tangrad._core.kernel.protocols import members as members
