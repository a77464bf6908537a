from anthropic import AsyncAnthropic
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from harness import KEY, ROOT, run
from pydantic_ai_scenario import scenario

run(lambda model: scenario(AnthropicModel(model, provider=AnthropicProvider(
    anthropic_client=AsyncAnthropic(base_url=ROOT, api_key=KEY, max_retries=0)))))
