from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from harness import KEY, OPENAI, check, run


def weather(city: str) -> str:
    """The weather in a city."""
    return f"20 C in {city}"


def scenario(model):
    llm = OpenAILike(model=model, api_base=OPENAI, api_key=KEY, is_chat_model=True, is_function_calling_model=True,
                     context_window=100000, max_retries=0, temperature=1)
    messages = [ChatMessage(role="system", content="Be brief."), ChatMessage(role="user", content="hello")]
    check(llm.chat(messages).message.content, "an answer")
    check(list(llm.stream_chat(messages)), "a stream")
    response = llm.predict_and_call([FunctionTool.from_defaults(weather)], user_msg="use the tool")
    check("20 C" in str(response), "the tool's result")


run(scenario)
