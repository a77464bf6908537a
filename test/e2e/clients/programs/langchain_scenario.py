from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from pydantic import BaseModel, Field
from harness import check


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"20 C in {city}"


class Person(BaseModel):
    """A person."""

    name: str
    age: int = Field(ge=18)


def scenario(llm):
    check(llm.invoke([SystemMessage("Be brief."), HumanMessage("hello")]).text, "an answer")
    check(list(llm.stream("hello")), "a stream")
    check(llm.with_structured_output(Person).invoke("hello").age >= 18, "a structured answer")
    bound = llm.bind_tools([weather])
    messages = [HumanMessage("use the tool")]
    called = bound.invoke(messages)
    call = called.tool_calls[0]
    messages += [called, ToolMessage(weather.invoke(call["args"]), tool_call_id=call["id"])]
    check("20 C" in bound.invoke(messages).text, "the tool's result")
    return messages
