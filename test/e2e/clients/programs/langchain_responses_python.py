from langchain_openai import ChatOpenAI
from harness import KEY, OPENAI, run
from langchain_scenario import scenario

run(lambda model: scenario(
    ChatOpenAI(model=model, base_url=OPENAI, api_key=KEY, max_retries=0, use_responses_api=True)))
