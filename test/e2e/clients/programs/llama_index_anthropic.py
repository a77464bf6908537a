from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.anthropic import Anthropic
from harness import KEY, ROOT, check, run


def weather(city: str) -> str:
    """The weather in a city."""
    return f"20 C in {city}"


class Any(Anthropic):
    """LlamaIndex knows the names of Anthropic's models only."""

    @property
    def metadata(self):
        return super().metadata if self.model.startswith("claude") else _METADATA


_METADATA = Anthropic(model="claude-sonnet-4-5", api_key="x").metadata


def scenario(model):
    llm = Any(model=model, base_url=ROOT, api_key=KEY, max_tokens=2000, max_retries=0, temperature=1)
    messages = [ChatMessage(role="system", content="Be brief."), ChatMessage(role="user", content="hello")]
    check(llm.chat(messages).message.content, "an answer")
    check(list(llm.stream_chat(messages)), "a stream")
    response = llm.predict_and_call([FunctionTool.from_defaults(weather)], user_msg="use the tool")
    check("20 C" in str(response), "the tool's result")


run(scenario)
