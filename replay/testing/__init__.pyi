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
    FakeClock as FakeClock,
    ScriptedSystem as ScriptedSystem,
    failure as failure,
    play as play,
)
from .judge_contract import JudgeContract as JudgeContract
from .local_server import ChatServer as ChatServer, chat_server as chat_server, mock_system as mock_system
from .policy_contract import PolicyContract as PolicyContract
from .reader_contract import ReaderContract as ReaderContract
from .resolver_contract import ResolverContract as ResolverContract
from .scorer_contract import ScorerContract as ScorerContract
from .user_contract import UserContract as UserContract, wording_request as wording_request
