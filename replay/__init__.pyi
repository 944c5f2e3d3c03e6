from .core.adapter import (
    Adapter as Adapter,
    ChatReply as ChatReply,
    ChatRequest as ChatRequest,
    HistoryKeeper as HistoryKeeper,
    Session as Session,
    TokenLogprobs as TokenLogprobs,
    WireTimes as WireTimes,
)
from .core.asking.templating import (
    Template as Template,
    TextTemplate as TextTemplate,
    template_variables as template_variables,
)
from .core.conversation import (
    CANNOT_ANSWER as CANNOT_ANSWER,
    Conversation as Conversation,
    Passage as Passage,
    Turn as Turn,
    UserGoal as UserGoal,
)
from .core.drift_evidence import (
    Drift as Drift,
    Mention as Mention,
    MentionDrift as MentionDrift,
    Reading as Reading,
)
from .core.errors import (
    AdapterConnectionError as AdapterConnectionError,
    AdapterCutOffError as AdapterCutOffError,
    AdapterError as AdapterError,
    AdapterRateLimitedError as AdapterRateLimitedError,
    AdapterRefusedError as AdapterRefusedError,
    AdapterReplyError as AdapterReplyError,
    AdapterTimeoutError as AdapterTimeoutError,
    DatasetError as DatasetError,
    ReplayError as ReplayError,
    RunStoppedError as RunStoppedError,
    ScenarioError as ScenarioError,
)
from .core.expectation import Expectation as Expectation
from .core.history import (
    Exchange as Exchange,
    PlayedTurn as PlayedTurn,
    gold_history as gold_history,
    own_history as own_history,
)
from .core.message import (
    Message as Message,
    ToolCall as ToolCall,
    instructions as instructions,
    json_text as json_text,
    match_results as match_results,
    message_fields as message_fields,
    question_messages as question_messages,
    tool_call_in as tool_call_in,
)
from .core.record import (
    ServerTimes as ServerTimes,
    Timing as Timing,
    TurnRecord as TurnRecord,
    Usage as Usage,
)
from .core.safety.redaction import keep_secret as keep_secret, redact as redact
from .core.settings.plugins import load_object as load_object
from .datasets.data_file import read_whole as read_whole
from .policies.policy import PlannedTurn as PlannedTurn, Policy as Policy
from .policies.recorded import GoldPolicy as GoldPolicy
from .results.comparing import RunComparison as RunComparison, compare as compare
from .results.judging import score as score
from .results.run import Run as Run
from .runs.driver import (
    ConversationDriver as ConversationDriver,
    DrivenConversation as DrivenConversation,
    drive as drive,
)
from .runs.launch import (
    resume as resume,
    resume_async as resume_async,
    run as run,
    run_async as run_async,
)
from .runs.logged_drift import LoggedDrift as LoggedDrift, drift as drift
from .runs.logged_leaning import LoggedLeaning as LoggedLeaning, leaning as leaning
from .scorers.reference_score import why_unanswered as why_unanswered, why_unscored as why_unscored
from .scorers.scorer import Scorer as Scorer, Unscored as Unscored

__version__: str
