from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from harness import KEY, OPENAI, run
from pydantic_ai_scenario import scenario

run(lambda model: scenario(OpenAIChatModel(model, provider=OpenAIProvider(base_url=OPENAI, api_key=KEY))))
