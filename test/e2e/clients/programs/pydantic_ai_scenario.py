from pydantic import BaseModel, Field
from pydantic_ai import Agent
from harness import check


class Person(BaseModel):
    name: str
    age: int = Field(ge=18)


def scenario(model):
    check(Agent(model, instructions="Be brief.").run_sync("hello").output, "an answer")
    check(Agent(model, output_type=Person).run_sync("hello").output.age >= 18, "a structured answer")
    agent = Agent(model)

    @agent.tool_plain
    def weather(city: str) -> str:
        """The weather in a city."""
        return f"20 C in {city}"

    first = agent.run_sync("use the tool")
    check("20 C" in first.output, "the tool's result")
    check(agent.run_sync("thanks", message_history=first.all_messages()).output, "a second turn")
