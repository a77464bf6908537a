from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI
from harness import KEY, OPENAI, run
from langchain_scenario import scenario


def mended(model):
    llm = ChatOpenAI(model=model, base_url=OPENAI, api_key=KEY, max_retries=0, use_responses_api=False, max_tokens=2000)
    messages = scenario(llm)
    # a history with tool calls and without tools, which ends with the assistant
    llm.invoke([*messages, AIMessage("It is ")])


run(mended)
