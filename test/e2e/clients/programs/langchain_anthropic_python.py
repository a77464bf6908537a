from langchain_anthropic import ChatAnthropic
from harness import KEY, ROOT, run
from langchain_scenario import scenario

run(lambda model: scenario(ChatAnthropic(
    model_name=model, base_url=ROOT, api_key=KEY, max_retries=0, max_tokens=2000)))
