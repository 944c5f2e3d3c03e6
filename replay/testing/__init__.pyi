from .adapter_contract import (
    FAIL as FAIL,
    HANG as HANG,
    STUCK_S as STUCK_S,
    AdapterContract as AdapterContract,
    entered as entered,
)
from .cases import (
    RecordingAsk as RecordingAsk,
    always as always,
    case as case,
    skipped_turn as skipped_turn,
    turn as turn,
)
from .fakes import (
    ChatServer as ChatServer,
    FakeClock as FakeClock,
    ScriptedSystem as ScriptedSystem,
    chat_server as chat_server,
    failure as failure,
    mock_system as mock_system,
    play as play,
)
from .judge_contract import JudgeContract as JudgeContract
from .policy_contract import PolicyContract as PolicyContract
from .reader_contract import ReaderContract as ReaderContract
from .resolver_contract import ResolverContract as ResolverContract
from .scorer_contract import ScorerContract as ScorerContract
from .user_contract import UserContract as UserContract, wording_request as wording_request
