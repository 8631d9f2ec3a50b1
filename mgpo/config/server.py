"""A server that samples in place of engines of our own."""

from dataclasses import dataclass

from mgpo.config.ranges import require_above, require_at_least


@dataclass(frozen=True, kw_only=True)
class ServerConfig:
    """Any server that speaks OpenAI's chat completions; vLLM's among them."""

    endpoint: str = ""
    """Base URL, e.g. http://localhost:8000/v1; empty: no server, engines of our own."""
    model: str = ""
    """The model's name at that server."""
    api_key_env: str = ""
    """Environment variable that holds the key; empty: the server needs none."""
    timeout_s: float = 1800.0
    """Longest wait for one answer, retries and their pauses included."""
    max_retries: int = 4
    """New tries after a lost connection or the HTTP codes 408, 409, 429, 5xx, ever later."""
    max_concurrent_requests: int = 32
    """Requests under way at once."""
    requests_per_minute: float | None = None
    """Answers asked for in a minute, retries not counted; None: no limit."""
    has_extensions: bool = True
    """Send top_k and min_p, which OpenAI's own servers refuse. Without them a server may take
    others from the model's generation_config.json, as vLLM does."""
    wants_logprobs: bool = True
    """Ask for log-probabilities; false for servers that refuse to give any."""

    def __post_init__(self) -> None:
        if self.endpoint and not self.endpoint.startswith(("http://", "https://")):
            raise ValueError(
                f"server.endpoint must start with http:// or https://, got {self.endpoint!r}"
            )
        if self.endpoint and not self.model:
            raise ValueError("server.model is empty: give the model's name at server.endpoint")
        require_above("server.timeout_s", self.timeout_s, 0)
        require_at_least("server.max_retries", self.max_retries, 0)
        require_at_least("server.max_concurrent_requests", self.max_concurrent_requests, 1)
        if self.requests_per_minute is not None:
            require_above("server.requests_per_minute", self.requests_per_minute, 0)

    @property
    def is_given(self) -> bool:
        """Whether a server samples."""
        return bool(self.endpoint)
