from agents import Agent, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
from pydantic import BaseModel
from harness import KEY, OPENAI, check, run

set_tracing_disabled(True)


@function_tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"20 C in {city}"


class Person(BaseModel):
    name: str
    age: int


def scenario(model):
    client = AsyncOpenAI(base_url=OPENAI, api_key=KEY, max_retries=0)
    responses = OpenAIResponsesModel(model=model, openai_client=client)
    agent = Agent(name="a", instructions="Be brief.", model=responses, tools=[weather])
    check("20 C" in Runner.run_sync(agent, "use the tool").final_output, "the tool's result")
    person = Runner.run_sync(Agent(name="b", model=responses, output_type=Person), "hello").final_output
    check(person.name, "a person")


run(scenario)
